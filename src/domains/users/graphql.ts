import { mutation } from '../../core/graphql/mutations.ts';
import { uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { type UserRow, userRow } from './queries.ts';
import { readVisibleUsers, updateViewer } from './operations.ts';
import { USER_TEXTS } from './texts.ts';

export const UserType = nodeType<UserRow>('User', {
  description:
    'A person. Everybody can read their own user. To read other members of the acting organization, a key needs any scope of the workspace API.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readVisibleUsers(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    email: t.exposeString('email', { nullable: true, description: USER_TEXTS.email }),
    name: t.exposeString('name', { nullable: true, description: USER_TEXTS.name }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: USER_TEXTS.createdAt }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: USER_TEXTS.updatedAt }),
  }),
});

mutation(updateViewer, {
  payload: (t) => ({
    user: t.field({ type: UserType, description: 'The caller with the new name.', resolve: (user) => userRow(user) }),
  }),
});
