import { z } from 'zod';
import type { PublicContext } from '../../../core/http/route.ts';
import { queriesOn } from '../../../core/postgres/reading/queries.ts';
import { SecretError } from '../../../core/secrets/secrets.ts';
import type { OrganizationTables } from '../../organizations/public.ts';
import type { UserTables } from '../../users/public.ts';
import type { McpConnectionTables } from '../entity.ts';
import { hashState } from '../remote/connect.ts';
import { type Callback, type CallbackResult, UNKNOWN, completeAuthorization } from './completion.ts';

/**
 * An authorization link belongs to the user who requested it. Otherwise a user could send their link to another person,
 * whose tokens would then be stored on the sender's connection. The callback therefore completes at once only in a
 * browser that is signed in as that user. In other browsers it first shows whose connection it is, and completes when
 * the person confirms.
 */

/** The facts that the confirmation page shows. */
export interface AskedAuthorization {
  readonly organization: string;
  readonly connection: string;
  /** Origin of the MCP server. */
  readonly server: string;
  /** The e-mail address of the user who requested the authorization. */
  readonly user: string;
  /** A name that this user has chosen. It can look like the address of somebody else. */
  readonly userName: string | null;
}

/** The result of the callback, or the facts to confirm first. */
export type CallbackAnswer =
  | CallbackResult
  | { readonly kind: 'unconfirmed'; readonly asked: AskedAuthorization; readonly confirmation: string };

const db = queriesOn<McpConnectionTables & OrganizationTables & UserTables>();

const askedBy = (stateHash: Buffer, at: string) =>
  db
    .selectFrom('mcp_authorization as a')
    .innerJoin('mcp_connection as c', 'c.id', 'a.connection_id')
    .innerJoin('organization as o', 'o.id', 'a.organization_id')
    .innerJoin('user_account as u', 'u.id', 'a.user_id')
    .select(['a.user_id as userId', 'c.name as connection', 'c.server_url as serverUrl', 'o.name as organization'])
    .select(['u.email as email', 'u.name as name'])
    .where('a.state_hash', '=', stateHash)
    .where('a.expires_at', '>', at);

/** Answers the redirect from the authorization server. A refused authorization needs no confirmation, because nothing is stored. */
export async function answerCallback(context: PublicContext, callback: Callback): Promise<CallbackAnswer> {
  if (callback.code === undefined) return completeAuthorization(context, callback);
  const found = await context.sql.primary.first(askedBy(hashState(callback.state), context.now().toISOString()));
  if (!found) return UNKNOWN;
  if ((await context.signedInUserId()) === found.userId) return completeAuthorization(context, callback);
  const { organization, connection, serverUrl, email, name } = found;
  const asked = {
    organization,
    connection,
    server: new URL(serverUrl ?? '').origin,
    // A service account has only a name.
    user: email ?? name ?? 'a deleted account',
    userName: email === null ? null : name,
  };
  return { kind: 'unconfirmed', asked, confirmation: await sealCallback(context, callback) };
}

/**
 * Completes an authorization that was confirmed on the page. The confirmation is encrypted by the gateway, so it cannot
 * be forged, and works only once, because the authorization does.
 */
export async function confirmAuthorization(context: PublicContext, confirmation: string): Promise<CallbackResult> {
  const callback = await openCallback(context, confirmation);
  return callback ? completeAuthorization(context, callback) : UNKNOWN;
}

/** Ends an authorization that was declined on the page. */
export async function declineAuthorization(context: PublicContext, confirmation: string): Promise<CallbackResult> {
  const callback = await openCallback(context, confirmation);
  if (!callback) return UNKNOWN;
  return completeAuthorization(context, { ...callback, code: undefined, isDeclined: true });
}

const PLACE = { table: 'mcp_authorization', row: 'confirmation', field: 'callback' };

const sealedCallback = z.strictObject({
  state: z.string(),
  code: z.string(),
  iss: z.string().optional(),
});

const sealCallback = ({ secrets }: PublicContext, { state, code, iss }: Callback): Promise<string> =>
  secrets.seal(JSON.stringify({ state, code, iss }), PLACE);

async function openCallback({ secrets }: PublicContext, confirmation: string): Promise<Callback | undefined> {
  try {
    const { state, code, iss } = sealedCallback.parse(JSON.parse(await secrets.open(confirmation, PLACE)));
    return { state, code, iss, error: undefined, description: undefined };
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}
