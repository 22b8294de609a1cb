import { nodeType, uuidsOf } from '../../core/graphql/nodes.ts';
import { type UserRow, readUsers } from './operations.ts';

export const UserType = nodeType<UserRow>('User', {
  description: 'A person. Seen by themselves and by the members of their organizations.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readUsers(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    email: t.exposeString('email', { nullable: true, description: 'E-mail address; null for a deleted account.' }),
    name: t.exposeString('name', { nullable: true, description: 'What to call them.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the account was created.' }),
  }),
});
