// What other nouns, the gateway and the operator use of identities.

export { type Claims, RefusedIdentityError, hasAddress, isOverflow, isSubject, mergedClaims } from './claims.ts';
export type { IdentityTables } from './entity.ts';
export { identitiesOf, readOwnIdentities } from './queries.ts';
export { endProviderSessions } from './provider-logout.ts';
export { type NewSignIn, recordRefusedSignIn } from './recorded-sign-ins.ts';
export { signInIdentity, signInWithLink } from './sign-in.ts';
export { unlinkIdentities } from './unlink.ts';
export { hasIdentity, isUnproven, revokeLeftovers } from './unproven-accounts.ts';
export { LINK_MINUTES, createSignInLink, useState } from './tokens.ts';
