import { builder } from '../../core/graphql/builder.ts';
import type { IdentityRow } from './queries.ts';

export const IdentityType = builder.objectRef<IdentityRow>('Identity').implement({
  description: 'A person at an identity provider who is joined to an account, and signs in with it.',
  fields: (t) => ({
    issuer: t.expose('issuer', { type: 'URL', description: 'The issuer: the address that identifies the provider.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the identity was joined to the account.' }),
    lastSignedInAt: t.expose('lastSignedInAt', {
      type: 'DateTime',
      description: 'When the person last signed in with the identity.',
    }),
  }),
});
