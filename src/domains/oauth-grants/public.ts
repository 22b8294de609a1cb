// What other nouns, the gateway and the operator use of grants to clients.

export type { OAuthTables } from './entity.ts';
export { type ConnectedAppRow, findConnectedApps, revokeGrant } from './grants.ts';
