import { builder } from '../../core/graphql/builder.ts';
import { DEPRECATED_APIS, type DeprecatedApi, REMOVED_APIS, type RemovedApi } from './lifecycle.ts';

const RemovedApiType = builder.objectRef<RemovedApi>('RemovedApi').implement({
  description: 'An API that was removed. It answers every call with 410.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the API.' }),
    pathPrefix: t.exposeString('pathPrefix', { description: 'The removed path. All paths below it were removed too.' }),
    removedOn: t.expose('removedOn', { type: 'Date', description: 'First day on which the API answers 410.' }),
    replacement: t.exposeString('replacement', {
      nullable: true,
      description: 'What to use instead. Null when there is no replacement.',
    }),
  }),
});

const DeprecatedApiType = builder.objectRef<DeprecatedApi>('DeprecatedApi').implement({
  description: 'An API that keeps working but gets no new versions.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the API.' }),
    paths: t.stringList({
      description: 'All operations of the API, each as method and path.',
      resolve: ({ paths }) => [...paths],
    }),
  }),
});

const ApiLifecycleType = builder.objectRef<object>('ApiLifecycle').implement({
  description: 'Which APIs were removed and which are deprecated.',
  fields: (t) => ({
    removed: t.field({
      type: [RemovedApiType],
      description: 'All APIs that were removed.',
      resolve: () => [...REMOVED_APIS],
    }),
    deprecated: t.field({
      type: [DeprecatedApiType],
      description: 'All APIs that are deprecated but keep working.',
      resolve: () => [...DEPRECATED_APIS],
    }),
  }),
});

builder.queryField('apiLifecycle', (t) =>
  t.field({ type: ApiLifecycleType, description: 'Removed and deprecated APIs.', resolve: () => ({}) }),
);
