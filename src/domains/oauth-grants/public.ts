// What other nouns, the gateway and the operator use of grants to clients.

export {
  type Artifact,
  type NewArtifact,
  changeArtifact,
  deleteArtifact,
  findArtifact,
  saveArtifact,
} from './artifacts.ts';
export type { OAuthTables } from './entity.ts';
export { type NewGrant, createGrant, extendGrant, revokeGrant } from './grants.ts';
export { listConnectedApps } from './operations.ts';
