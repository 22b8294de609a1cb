import { exposedWith, nullable } from '../../core/graphql/fields.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType } from '../../core/graphql/nodes.ts';
import { referenceTo } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { type UserRow, userRow } from './queries.ts';
import { readUsers, readVisibleUsers, updateViewer } from './operations.ts';
import { USER_TEXTS } from './texts.ts';

export const UserType = nodeType<UserRow>('User', {
  description:
    'A person. Everybody can read their own user. To read other members of the acting organization, a key needs any scope of the workspace API.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readVisibleUsers(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...exposedWith(t, USER_TEXTS, {
      email: nullable('String'),
      name: nullable('String'),
      createdAt: 'DateTime',
      updatedAt: 'DateTime',
    }),
    displayName: t.string({
      description: 'What to show for the person: the name, else the e-mail address, else `Deleted account`.',
      extensions: needs<UserRow>('name', 'email'),
      resolve: ({ name, email }) => name ?? email ?? 'Deleted account',
    }),
  }),
});

export const userField = referenceTo(UserType, readUsers);

mutation(updateViewer, {
  payload: (t) => ({
    user: t.field({ type: UserType, description: 'The caller with the new name.', resolve: (user) => userRow(user) }),
  }),
});
