import type { InterfaceRef } from '@pothos/core';
import { type SchemaTypes, builder } from '../../core/graphql/builder.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { mutation, one } from '../../core/graphql/mutations.ts';
import { entityType } from '../../core/graphql/nodes.ts';
import { referenceTo } from '../../core/graphql/references.ts';
import { needs } from '../../core/graphql/selection.ts';
import { type UserRow, userRow } from './queries.ts';
import { readUsers, readVisibleUsers, updateViewer } from './operations.ts';
import { userDocument } from './documents.ts';

const DISPLAY_NAME = 'What to show for the account.';

const Account = builder.interfaceRef<Pick<UserRow, 'id' | 'name' | 'email'>>('Account').implement({
  description: 'A person or a service account.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({ displayName: t.string({ description: DISPLAY_NAME, resolve: displayNameOf }) }),
});

const displayNameOf = ({ name, email }: Pick<UserRow, 'name' | 'email'>) => name ?? email ?? 'Deleted account';

/** Its types have further columns, and read the field from their own rows. */
export const AccountInterface = Account as unknown as InterfaceRef<
  PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>,
  never
>;

export const UserType = entityType<UserRow>('User', {
  stored: { table: 'user_account', organization: null },
  description:
    'A person. Everybody can read their own user. To read other members of the acting organization, a key needs any scope of the workspace API.',
  interfaces: [AccountInterface],
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
      resolve: displayNameOf,
    }),
  }),
});

export const userField = referenceTo(UserType, readUsers);

mutation(updateViewer, {
  payload: one('user', UserType, 'The caller with the new name.', userRow),
});
