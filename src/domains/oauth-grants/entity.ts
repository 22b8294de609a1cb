import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { ApiKey } from '../api-keys/public.ts';

const OAuthGrantSchema = defineEntity({
  name: 'OAuthGrant',
  tableName: 'oauth_grant',
  properties: {
    /** The credential, with the user, the organization, the scopes, the name of the client and the times. */
    key: () => p.manyToOne(ApiKey).primary().deleteRule('cascade'),
    clientId: p.text(),
    /** The host of the client's metadata document; null for a registered client, and for the gateway's own. */
    clientHost: p.text().nullable(),
    /** The address that the tokens are for, under the public address of the gateway. */
    resource: p.text(),
    /** The host that the browser was redirected to; null after a device authorization. */
    redirectHost: p.text().nullable(),
  },
});

/** What only the grant of a person to a client has, beside its row in `api_key`. */
export class OAuthGrant extends OAuthGrantSchema.class {}
OAuthGrantSchema.setClass(OAuthGrant);

const OAuthArtifactSchema = defineEntity({
  name: 'OAuthArtifact',
  tableName: 'oauth_artifact',
  properties: {
    /** SHA-256 of the token, code or id, which itself is never stored. */
    hash: p.blob().primary(),
    /** The model of the authorization server, such as `AccessToken`. */
    kind: p.text(),
    /** The grant that it belongs to. */
    key: () => p.manyToOne(ApiKey).nullable().deleteRule('cascade'),
    /** SHA-256 of the other value that it is found by, such as the code that a person types. */
    reference: p.blob().nullable(),
    /** What the authorization server knows of it, without the secret itself. */
    payload: p.json<Readonly<Record<string, unknown>>>(),
    consumedAt: p.datetime().nullable(),
    /** The encrypted answer to the first use of a refresh token, which is repeated for some time. */
    answer: p.text().nullable(),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'oauth_artifact_key_index', properties: ['key'], where: 'key_id is not null' },
    { name: 'oauth_artifact_reference_index', properties: ['reference'], where: 'reference is not null' },
    { name: 'oauth_artifact_expiry_index', properties: ['expiresAt'] },
  ],
});

/** What the authorization server keeps: tokens, codes, registered clients, and the state of authorizations. Read and written as rows. */
export class OAuthArtifact extends OAuthArtifactSchema.class {}
OAuthArtifactSchema.setClass(OAuthArtifact);

export type OAuthTables = InferKyselyDB<typeof OAuthGrantSchema | typeof OAuthArtifactSchema>;
