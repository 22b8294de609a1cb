import { ConflictError } from '../../core/errors.ts';
import { EXPECTED_UPDATED_AT } from '../../core/input/expected-version.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { updateViewerInput } from './input.ts';
import { type UserRow, userRow } from './queries.ts';
import { readVisibleUsers, updateViewer } from './operations.ts';

export const UserType = nodeType<UserRow>('User', {
  description:
    'A person. Everybody can read their own user. To read other members of the acting organization, a key needs any scope of the workspace API.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readVisibleUsers(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    email: t.exposeString('email', { nullable: true, description: 'E-mail address. Null for a deleted account.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name to display, at most 100 characters. Null when none was given.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the name last changed. `expectedUpdatedAt` is compared with it.',
    }),
  }),
});

mutation('updateViewer', {
  access: updateViewer.access,
  description: "Changes the caller's name, which is shown in all of their organizations.",
  schema: updateViewerInput,
  input: (t) => ({
    name: t.string({ description: 'Name to display, 1 to 100 characters; unchanged when absent, cleared by null.' }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [ConflictError],
  run: async (context, input) => ({ user: userRow(await updateViewer(context, input)) }),
  payload: (t) => ({
    user: t.field({ type: UserType, description: 'The caller with the new name.', resolve: ({ user }) => user }),
  }),
});
