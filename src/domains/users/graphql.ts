import { shown } from '../../core/graphql/derived-fields.ts';
import { mutation, one } from '../../core/graphql/mutations.ts';
import { entityType } from '../../core/graphql/nodes.ts';
import { referenceTo } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { type UserRow, userRow } from './queries.ts';
import { readUsers, readVisibleUsers, updateViewer } from './operations.ts';
import { userDocument } from './documents.ts';

export const UserType = entityType<UserRow>('User', {
  description:
    'A person. Everybody can read their own user. To read other members of the acting organization, a key needs any scope of the workspace API.',
  read: readVisibleUsers,
  fields: (t) => ({
    ...shown(t, userDocument, ['email', 'name', 'createdAt']),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the name last changed. `expectedUpdatedAt` is compared with it.',
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
  payload: one('user', UserType, 'The caller with the new name.', userRow),
});
