import { auditEntry, recordAudit } from '../../core/audit.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import {
  changeArtifact,
  deleteArtifact,
  extendGrant,
  findArtifact,
  revokeGrant,
  saveArtifact,
} from '../../domains/oauth-grants/public.ts';
import type { KnownGrant } from '../admission/api-key-lookup.ts';
import { type OAuthCall, currentCall } from './calls.ts';
import { type ClientFinder, REGISTERED } from './clients.ts';

/** What the authorization server calls to store something (documentation of oidc-provider, `adapter`). */
interface Adapter {
  upsert(id: string, payload: StoredPayload, expiresIn: number): Promise<void>;
  find(id: string): Promise<object | undefined>;
  findByUserCode(userCode: string): Promise<object | undefined>;
  findByUid(uid: string): Promise<object | undefined>;
  consume(id: string): Promise<void>;
  destroy(id: string): Promise<void>;
  revokeByGrantId(grantId: string): Promise<void>;
}

interface StoredPayload {
  readonly jti?: string;
  readonly userCode?: string;
  readonly grantId?: ApiKeyId;
  readonly clientId?: string;
}

/** Finds a grant whose tokens are accepted, with a given connection. */
export type GrantFinder = (sql: Sql, id: ApiKeyId) => Promise<KnownGrant | undefined>;

interface AdapterParts {
  readonly clients: Pick<ClientFinder, 'find'>;
  readonly findGrant: GrantFinder;
  readonly now: () => Date;
  readonly newId: () => string;
}

/** The id of a device code that was found by the code that a person types: its own secret is not known here. */
const FOUND_BY_USER_CODE = 'user code ';

const nothing = () => Promise.resolve(undefined);

/** The storage of each model of the authorization server: PostgreSQL, so that a process remembers nothing. */
export const createAdapter =
  (parts: AdapterParts): ((model: string) => Adapter) =>
  (model) => {
    const storage = storageOf(model, parts);
    // Every authorization is a separate session: people sign in to the console, and are asked each time.
    if (model === 'Session')
      return { ...storage, upsert: nothing, find: nothing, findByUid: nothing, destroy: nothing };
    if (model === 'Client') return { ...storage, find: (id) => parts.clients.find(id) };
    if (model === 'Grant') return { ...storage, ...grantStorage(parts) };
    if (model === 'RefreshToken') return { ...storage, upsert: (...given) => saveRefreshToken(storage, parts, given) };
    return storage;
  };

function storageOf(kind: string, { now }: AdapterParts): Adapter {
  const found = async (wanted: { readonly id: string } | { readonly reference: string }, secrets: object) => {
    const artifact = await findArtifact(currentCall().em, { kind, ...wanted }, now());
    if (!artifact) return undefined;
    const { payload, consumedAt, expiresAt } = artifact;
    // The authorization server compares with the clock of the machine.
    const exp = Math.ceil((Date.now() + expiresAt.getTime() - now().getTime()) / 1000);
    return { ...payload, ...secrets, exp, ...(consumedAt && { consumed: Math.floor(consumedAt.getTime() / 1000) }) };
  };
  return {
    async upsert(id, { userCode, ...known }, expiresIn) {
      const payload = { ...known, jti: undefined };
      const keyId = payload.grantId ?? null;
      const expiresAt = new Date(now().getTime() + expiresIn * 1000);
      const { em } = currentCall();
      if (id.startsWith(FOUND_BY_USER_CODE)) {
        const reference = id.slice(FOUND_BY_USER_CODE.length);
        await changeArtifact(em, { kind, reference }, { payload, keyId, expiresAt });
      } else await saveArtifact(em, { id, kind, payload, keyId, reference: userCode, expiresAt });
    },
    find: (id) => found({ id }, { jti: id }),
    findByUserCode: (userCode) => found({ reference: userCode }, { userCode, jti: FOUND_BY_USER_CODE + userCode }),
    findByUid: nothing,
    consume: (id) => changeArtifact(currentCall().em, { kind, id }, { consumedAt: now() }),
    destroy: (id) => deleteArtifact(currentCall().em, { kind, id }),
    // Tokens end with the row of their grant, which is revoked beside them.
    revokeByGrantId: () => Promise.resolve(),
  };
}

/** A refresh token keeps its grant alive, and the registration of its client. */
async function saveRefreshToken(
  storage: Adapter,
  { now }: AdapterParts,
  [id, payload, expiresIn]: Parameters<Adapter['upsert']>,
): Promise<void> {
  await storage.upsert(id, payload, expiresIn);
  const { em } = currentCall();
  const until = new Date(now().getTime() + expiresIn * 1000);
  if (payload.grantId) await extendGrant(em, payload.grantId, until);
  if (payload.clientId) await changeArtifact(em, { kind: REGISTERED, id: payload.clientId }, { expiresAt: until });
}

const grantStorage = ({ findGrant, now, newId }: AdapterParts): Pick<Adapter, 'upsert' | 'find' | 'destroy'> => ({
  upsert: () => Promise.reject(new Error('grants are created on the consent page')),
  async find(id) {
    const grant = await findGrant(currentCall().sql, id);
    if (!grant) return undefined;
    const { userId: accountId, clientId, resource, scopes } = grant;
    const iat = Math.floor(Date.now() / 1000);
    const resources = { [resource]: [...scopes].join(' ') };
    return { kind: 'Grant', jti: id, accountId, clientId, resources, iat, exp: iat + 3600 };
  },
  destroy: (id) => endGrant(currentCall(), id, { now, newId }),
});

/** Ends a grant in the transaction of the request. */
async function endGrant(call: OAuthCall, id: ApiKeyId, clock: Pick<AdapterParts, 'now' | 'newId'>): Promise<void> {
  const { em, request, endsBecause } = call;
  const grant = await revokeGrant(em, { id }, clock.now());
  if (!grant) return;
  await em.flush();
  const organizationId = grant.organization?.id ?? null;
  const actor = { keyId: id, organization: undefined };
  const target = { type: 'ApiKey' as const, id, organizationId, label: grant.label(), detail: endsBecause };
  await recordAudit(em, auditEntry({ ...clock, ...request, actor }, 'revokeConnectedApp', target));
  call.ended.push(id);
}
