import type { Provider } from 'oidc-provider';
import { FRONT_END_SCOPES, type Scope } from '../../core/access.ts';
import { invalid } from '../../core/errors.ts';
import { FRONT_END_RESOURCE, RECORDING_RESOURCE, withoutMcpSlash } from '../../core/http/mcp-addresses.ts';
import { type HttpAnswer, answerJson, answerWith } from '../../core/http/messages.ts';
import { readJson, readText } from '../../core/http/request-body.ts';
import { sqlWithin } from '../../core/postgres/reading/sql.ts';
import { WORK } from '../../core/work-budget.ts';
import { apiKeyTopic } from '../../domains/api-keys/public.ts';
import { type Artifact, changeArtifact, findArtifact, saveArtifact } from '../../domains/oauth-grants/public.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Exchange } from '../exchange.ts';
import { type GrantFinder, createAdapter } from './adapter.ts';
import type { KnownGrant } from '../admission/api-key-lookup.ts';
import { openAnswer, sealAnswer } from './refresh-token-answers.ts';
import { type OAuthCall, currentCall, within } from './calls.ts';
import {
  type Client,
  type ClientFinder,
  GATEWAY_CLIENT_ID,
  REGISTERED,
  UnknownClientError,
  createClientFinder,
  registeredClient,
} from './clients.ts';
import { type NodeAnswer, type NodeCall, callListener, errorIn } from './node-call.ts';
import { PATHS, createProvider } from './provider.ts';

/** How long the answer to a refresh token is repeated: several processes of a client refresh at once, and answers get lost. */
const GRACE_MS = 60_000;
const UNUSED_CLIENT_MS = 24 * 3600 * 1000;

/** The parameters that count. Others are ignored (RFC 6749, section 3.1), among them those of OpenID Connect. */
const AUTHORIZATION_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;
const DEVICE_PARAMETERS = ['client_id', 'scope', 'resource'] as const;

interface EndpointParts {
  readonly dependencies: Dependencies;
  readonly scopesOfResource: (path: string) => readonly Scope[] | undefined;
  readonly errorHtml: (message: string) => string;
  /** Counts a document of a client that is fetched. @throws DomainError (429) when an address has made the gateway fetch too many. */
  readonly countFetch: (clientAddress: string | undefined) => void;
  /** A grant whose tokens are accepted; undefined for others. */
  readonly findGrant: GrantFinder;
}

/** The endpoints of the authorization server that clients call. The pages for people are beside it. */
export class OAuthEndpoints {
  readonly clients: ClientFinder;
  readonly #parts: EndpointParts;
  #made: { readonly issuer: string; readonly provider: Promise<Provider> } | undefined;

  constructor(parts: EndpointParts) {
    const { config, outbound, now } = parts.dependencies;
    this.#parts = parts;
    const countFetch = () => parts.countFetch(currentCall().clientAddress);
    this.clients = createClientFinder({ config, outbound, now, countFetch, em: () => currentCall().em });
  }

  /** Runs work for a request; with a transaction, everything that it stores is stored together. */
  async run<Result>(
    { requestId, requestIdOrigin, clientAddress }: Exchange,
    work: () => Promise<Result>,
    { isTransaction = false, endsBecause }: { isTransaction?: boolean; endsBecause?: OAuthCall['endsBecause'] } = {},
  ): Promise<Result> {
    const { database, notifier, sql } = this.#parts.dependencies;
    const ended: OAuthCall['ended'] = [];
    const em = database.em.fork();
    const call = { em, sql, request: { requestId, requestIdOrigin }, clientAddress, endsBecause, ended };
    const result = await (isTransaction
      ? em.transactional((transaction) => within({ ...call, em: transaction, sql: sqlWithin(transaction) }, work))
      : within(call, work));
    for (const id of ended) notifier.publish(apiKeyTopic(id));
    return result;
  }

  /** The package, which is loaded with the first request. The public address is known only when the gateway listens. */
  provider(): Promise<Provider> {
    const { dependencies, errorHtml } = this.#parts;
    const { publicUrl, secrets, log, now, newId } = dependencies;
    const issuer = publicUrl();
    if (this.#made?.issuer !== issuer) {
      const provider = createProvider({
        issuer,
        adapter: createAdapter({ clients: this.clients, findGrant: this.#parts.findGrant, now, newId }),
        secret: secrets.derive('OAuth signing key'),
        scopesOf: (resource) => this.#scopesOf(resource),
        renderError: ({ error, error_description: description }) =>
          errorHtml(description ?? error ?? 'invalid request'),
      });
      this.#made = { issuer, provider };
      void provider.then((each) =>
        each.on('server_error', (_, error) => log.error({ err: error }, 'the authorization server has failed')),
      );
    }
    return this.#made.provider;
  }

  #scopesOf(resource: string): readonly Scope[] | undefined {
    const base = this.#parts.dependencies.publicUrl();
    const url = URL.canParse(resource) ? new URL(resource) : undefined;
    // Written as clients send it later, without segments that are left out.
    if (url?.href !== resource || url.search !== '') return undefined;
    return resource.startsWith(`${base}/`) ? this.#parts.scopesOfResource(resource.slice(base.length)) : undefined;
  }

  /** GET `/.well-known/oauth-authorization-server` */
  async metadata(exchange: Exchange): Promise<HttpAnswer> {
    const answer = await this.run(exchange, () =>
      this.#send({ method: 'GET', path: '/.well-known/oauth-authorization-server' }),
    );
    const { dependencies } = this.#parts;
    const { OAUTH_REGISTRATION, OAUTH_CLIENT_DOCUMENTS } = dependencies.config;
    const registration = OAUTH_REGISTRATION
      ? { registration_endpoint: dependencies.publicUrl() + PATHS.registration }
      : {};
    return answerJson({
      ...(JSON.parse(answer.body) as object),
      scopes_supported: FRONT_END_SCOPES,
      response_modes_supported: ['query'],
      client_id_metadata_document_supported: OAUTH_CLIENT_DOCUMENTS,
      ...registration,
    });
  }

  async keys(exchange: Exchange): Promise<HttpAnswer> {
    return toHttpAnswer(await this.run(exchange, () => this.#send({ method: 'GET', path: PATHS.keys })));
  }

  /** GET `/oauth/authorize`. @throws UnknownClientError also for every other error: nobody has approved the address of the client yet (RFC 9700, section 4.11.2). */
  async authorize(exchange: Exchange): Promise<HttpAnswer> {
    const query = only(AUTHORIZATION_PARAMETERS, exchange.url.searchParams);
    const answer = await this.run(exchange, async () => {
      await this.#complete(query);
      return this.#send({ method: 'GET', path: `${PATHS.authorization}?${query}` });
    });
    const error = errorIn(answer);
    if (error !== undefined) throw new UnknownClientError(error);
    return toHttpAnswer(answer);
  }

  /** GET `/oauth/authorize/{uid}`: goes on when the person has decided. Undefined before: it would end the authorization. */
  async resume(exchange: Exchange, uid: string): Promise<HttpAnswer | undefined> {
    const isOpen = await this.run(exchange, async () => {
      const interaction = await (await this.provider()).Interaction.find(uid);
      const clientId = interaction?.params['client_id'];
      // So that no document is fetched within the transaction.
      if (typeof clientId === 'string') await this.clients.find(clientId);
      return interaction !== undefined && interaction.result === undefined;
    });
    if (isOpen) return undefined;
    const answer = await this.run(
      exchange,
      () =>
        this.#send({
          method: 'GET',
          path: `${PATHS.authorization}/${uid}`,
          headers: { cookie: `_interaction_resume=${uid}` },
        }),
      { isTransaction: true },
    );
    return toHttpAnswer(answer);
  }

  /** Says what a client means that asks for no resource or no scope, and ignores scopes that nobody can grant. */
  async #complete(query: URLSearchParams): Promise<Client | undefined> {
    for (const [name, value] of query)
      // PostgreSQL stores no text with it.
      if (value.includes('\0')) throw invalid(name.replaceAll('\0', ''), 'must not contain the character NUL');
    const clientId = query.get('client_id');
    const client = clientId === null ? undefined : await this.clients.find(clientId);
    if (query.getAll('resource').length > 1 || query.getAll('scope').length > 1) return client;
    const names = (query.get('scope') ?? '').split(' ').filter((name) => name !== '' && !OF_OPENID.has(name));
    const asked = grantable(names.join(' '));
    const resource = this.#resourceFor(query.get('resource'), client, asked);
    const usable = this.#scopesOf(resource) ?? [];
    const scopes = asked.filter((scope) => usable.includes(scope));
    query.set('resource', resource);
    query.set('scope', (names.length === 0 ? usable : scopes).join(' '));
    return client;
  }

  #resourceFor(given: string | null, client: Client | undefined, scopes: readonly Scope[]): string {
    const base = this.#parts.dependencies.publicUrl();
    if (given !== null) return this.#withoutSlash(given);
    if (client?.client_id === GATEWAY_CLIENT_ID) return base + RECORDING_RESOURCE;
    return base + (scopes.includes('mcp_connections.use') ? '/v1/mcp' : '/mcp');
  }

  #withoutSlash(resource: string): string {
    const base = this.#parts.dependencies.publicUrl();
    return resource.startsWith(`${base}/`) ? base + withoutMcpSlash(resource.slice(base.length)) : resource;
  }

  /** POST `/oauth/device/authorize`: begins the authorization of a device. @throws UnknownClientError */
  async authorizeDevice(exchange: Exchange): Promise<HttpAnswer> {
    const form = only(DEVICE_PARAMETERS, await readParameters(exchange));
    if (form.getAll('resource').includes(this.#parts.dependencies.publicUrl() + FRONT_END_RESOURCE))
      return toHttpAnswer(refusal('invalid_target', 'front ends use the authorization code flow'));
    const answer = await this.run(exchange, async () => {
      await this.#complete(form);
      return this.#post(exchange, PATHS.deviceAuthorization, form);
    });
    return toHttpAnswer(answer);
  }

  /** POST `/oauth/token`. All of it is one transaction, which locks the code or the refresh token. @throws UnknownClientError */
  async token(exchange: Exchange): Promise<HttpAnswer> {
    const form = await readParameters(exchange);
    // Those that are given twice are left to the package, which refuses them.
    const [[scope, ...scopes], [resource, ...others]] = [form.getAll('scope'), form.getAll('resource')];
    if (scope !== undefined && scopes.length === 0) form.set('scope', grantable(scope).join(' '));
    if (resource !== undefined && others.length === 0) form.set('resource', this.#withoutSlash(resource));
    const clientId = form.get('client_id');
    // Before the transaction, so that no document is fetched within it.
    await this.run(exchange, async () => {
      if (clientId !== null) await this.clients.find(clientId);
      await this.#countRefresh(form);
    });
    const settings = { isTransaction: true, endsBecause: 'REUSED' } as const;
    const work = async () => {
      const answer = await this.#exchange(exchange, form);
      // The package uses up a token before it refuses the resource. What was refused must change nothing, but the end of a grant stays.
      if (answer.status !== 200 && currentCall().ended.length === 0) throw new RefusedExchange(answer);
      return answer;
    };
    return toHttpAnswer(await this.run(exchange, work, settings).catch(answerOfRefused));
  }

  /** Each refresh stores tokens, so it counts as a request of its grant. @throws DomainError (429) */
  async #countRefresh(form: URLSearchParams): Promise<void> {
    const { rateLimits, now } = this.#parts.dependencies;
    const token = form.get('refresh_token');
    if (!rateLimits || token === null) return;
    const grant = await this.#grantOf(await findArtifact(currentCall().em, { kind: 'RefreshToken', id: token }, now()));
    if (grant) await rateLimits.countRequest(grant);
  }

  async #grantOf(token: Artifact | undefined) {
    const id = token?.payload['grantId'];
    return typeof id === 'string' ? this.#parts.findGrant(currentCall().sql, id) : undefined;
  }

  /** Whether the refresh token of an answer was used: who has it needs no repetition of the answer. */
  async #isUsed(answer: string): Promise<boolean> {
    const { refresh_token: id } = JSON.parse(answer) as { readonly refresh_token: string };
    const next = await findArtifact(currentCall().em, { kind: 'RefreshToken', id }, this.#parts.dependencies.now());
    return next?.consumedAt != null;
  }

  async #exchange(exchange: Exchange, form: URLSearchParams): Promise<NodeAnswer> {
    const { em } = currentCall();
    const { now } = this.#parts.dependencies;
    for (const [name, kind] of LOCKED)
      for (const id of form.getAll(name).slice(0, 1)) await findArtifact(em, { kind, id }, now(), { lock: true });
    const token = form.get('refresh_token');
    if (form.get('grant_type') !== 'refresh_token' || token === null) return this.#post(exchange, PATHS.token, form);
    const known = await findArtifact(em, { kind: 'RefreshToken', id: token }, now());
    const isSameClient = known?.payload['clientId'] === form.get('client_id');
    const isRepeated = known?.consumedAt && now().getTime() - known.consumedAt.getTime() < GRACE_MS;
    const given = isRepeated && isSameClient && known.answer ? openAnswer(known.answer, token) : undefined;
    const grant = given !== undefined && !(await this.#isUsed(given)) ? await this.#grantOf(known) : undefined;
    if (grant && given !== undefined) return repeated(given, form, grant);
    const answer = await this.#post(exchange, PATHS.token, form);
    if (answer.status === 200)
      await changeArtifact(em, { kind: 'RefreshToken', id: token }, { answer: sealAnswer(answer.body, token) });
    return answer;
  }

  /** POST `/oauth/revoke`. @throws UnknownClientError */
  async revoke(exchange: Exchange): Promise<HttpAnswer> {
    const form = await readParameters(exchange);
    const clientId = form.get('client_id');
    if (clientId !== null) await this.run(exchange, () => this.clients.find(clientId));
    const settings = { isTransaction: true, endsBecause: 'CLIENT' } as const;
    return toHttpAnswer(await this.run(exchange, () => this.#post(exchange, PATHS.revocation, form), settings));
  }

  /** POST `/oauth/register` (RFC 7591). @throws UnknownClientError */
  async register(exchange: Exchange): Promise<HttpAnswer> {
    const { now, newId } = this.#parts.dependencies;
    const client = registeredClient(newId(), await readJson(exchange.request, WORK.keylessBytes));
    const { client_id: id, client_name, redirect_uris, grant_types } = client;
    const payload = { client_name, redirect_uris, grant_types };
    const expiresAt = new Date(now().getTime() + UNUSED_CLIENT_MS);
    await this.run(exchange, () =>
      saveArtifact(currentCall().em, { id, kind: REGISTERED, payload, keyId: null, expiresAt }),
    );
    const document = {
      client_id: id,
      client_id_issued_at: Math.floor(now().getTime() / 1000),
      ...payload,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
    return answerJson(document, { status: 201, headers: { 'Cache-Control': 'no-store' } });
  }

  #post({ request }: Exchange, path: string, form: URLSearchParams): Promise<NodeAnswer> {
    const headers: Record<string, string> = { accept: 'application/json' };
    for (const name of ['content-type', 'authorization']) {
      const value = request.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    return this.#send({ method: 'POST', path, headers, body: String(form) });
  }

  async #send({ path, headers = {}, body = '', method }: Sent): Promise<NodeAnswer> {
    const provider = await this.provider();
    const base = new URL(this.#parts.dependencies.publicUrl());
    const mountPath = base.pathname.replace(/\/$/, '');
    return callListener(provider.callback(), { method, url: new URL(path, base.origin), mountPath, headers, body });
  }
}

/** Rolls the transaction of a request back that was refused. */
class RefusedExchange extends Error {
  readonly answer: NodeAnswer;

  constructor(answer: NodeAnswer) {
    super('the exchange was refused');
    this.answer = answer;
  }
}

function answerOfRefused(error: unknown): NodeAnswer {
  if (error instanceof RefusedExchange) return error.answer;
  throw error;
}

interface Sent extends Pick<NodeCall, 'method'>, Partial<Pick<NodeCall, 'headers' | 'body'>> {
  readonly path: string;
}

/** What is used once, so that of two requests the second waits for the first. */
const LOCKED = [
  ['code', 'AuthorizationCode'],
  ['refresh_token', 'RefreshToken'],
  ['device_code', 'DeviceCode'],
] as const;

/** Scopes of OpenID Connect, which clients ask for wherever they connect. They have no meaning here. */
const OF_OPENID = new Set(['openid', 'profile', 'email', 'offline_access']);

function grantable(scope: string | null): Scope[] {
  const asked = new Set(scope?.split(' '));
  return FRONT_END_SCOPES.filter((each) => asked.has(each));
}

const only = (names: readonly string[], given: URLSearchParams): URLSearchParams =>
  new URLSearchParams(names.flatMap((name) => given.getAll(name).map((value) => [name, value])));

/** The parameters of the body. The package checks its media type. */
const readParameters = async ({ request }: Exchange): Promise<URLSearchParams> =>
  new URLSearchParams(await readText(request, WORK.keylessBytes));

/** The answer to an earlier refresh, if the client asks for the same. The package would end the grant. */
function repeated(body: string, form: URLSearchParams, { resource }: KnownGrant): NodeAnswer {
  const { scope = '' } = JSON.parse(body) as { readonly scope?: string };
  const wanted = form.get('scope') || scope;
  const error = form.getAll('resource').some((each) => each !== resource)
    ? 'invalid_target'
    : String(grantable(wanted)) !== String(grantable(scope)) && 'invalid_scope';
  if (!error) return answerOf(200, body);
  return refusal(error, 'this refresh token was used for something else');
}

const refusal = (error: string, description: string): NodeAnswer =>
  answerOf(400, JSON.stringify({ error, error_description: description }));

const answerOf = (status: number, body: string): NodeAnswer => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body,
});

function toHttpAnswer({ status, headers, body }: NodeAnswer): HttpAnswer {
  const location = headers['location'];
  const type = headers['content-type'];
  const challenge = headers['www-authenticate'];
  return answerWith(location === undefined ? body : null, {
    status,
    headers: {
      'Cache-Control': 'no-store',
      ...(type !== undefined && location === undefined && { 'Content-Type': type }),
      ...(location !== undefined && { Location: location }),
      ...(challenge !== undefined && { 'WWW-Authenticate': challenge }),
    },
  });
}
