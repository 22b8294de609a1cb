import { builder } from '../../core/graphql/builder.ts';
import { DEPRECATED_APIS, type DeprecatedApi, REMOVED_APIS, type RemovedApi } from './lifecycle.ts';

const RemovedApiType = builder.objectRef<RemovedApi>('RemovedApi').implement({
  description: 'An API that answers 410 to every call.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What it was called.' }),
    pathPrefix: t.exposeString('pathPrefix', { description: 'All paths under this one are gone.' }),
    removedOn: t.expose('removedOn', { type: 'Date', description: 'The day since when it answers 410.' }),
    replacement: t.exposeString('replacement', {
      nullable: true,
      description: 'What to use instead; null when there is nothing.',
    }),
  }),
});

const DeprecatedApiType = builder.objectRef<DeprecatedApi>('DeprecatedApi').implement({
  description: 'An API that keeps working and is stable, but receives no further versions.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What it is called.' }),
    paths: t.stringList({ description: 'Its operations, as method and path.', resolve: ({ paths }) => [...paths] }),
  }),
});

const ApiLifecycleType = builder.objectRef<object>('ApiLifecycle').implement({
  description: 'Which APIs are gone, and which will be replaced no more.',
  fields: (t) => ({
    removed: t.field({
      type: [RemovedApiType],
      description: 'APIs that were removed.',
      resolve: () => [...REMOVED_APIS],
    }),
    deprecated: t.field({
      type: [DeprecatedApiType],
      description: 'APIs that are kept though deprecated.',
      resolve: () => [...DEPRECATED_APIS],
    }),
  }),
});

builder.queryField('apiLifecycle', (t) =>
  t.field({ type: ApiLifecycleType, description: 'Life cycle of the public APIs.', resolve: () => ({}) }),
);
