import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Config } from '../../core/config.ts';
import { isLoopback, isRedirect } from '../../core/oauth-clients.ts';
import { type Outbound, OutboundError } from '../../core/outbound/outbound.ts';
import { findArtifact, saveArtifact } from '../../domains/oauth-grants/public.ts';

/** Clients of the authorization server: the gateway's own, those of the operator, those with a metadata document, and registered ones. All are public. */

/** The client of the recorder and the command line, which use the device flow. */
export const GATEWAY_CLIENT_ID = 'workspace-recorder';

/** The kinds of artifacts for clients. */
export const REGISTERED = 'Client';
const DOCUMENT = 'ClientDocument';

const DOCUMENT_BYTES = 5 * 1024;
const DOCUMENT_MS = 10_000;
const DEFAULT_SECONDS = 3600;
const LEAST_SECONDS = 60;
const MOST_SECONDS = 24 * 3600;

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
const MAX_REDIRECTS = 50;
const MAX_NAME = 100;

/** A client as the authorization server knows it. */
export interface Client {
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
}

/** With the properties that all clients have in common. */
interface DescribedClient extends Client {
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: 'none';
  readonly application_type: 'native' | 'web';
}

/** What of a document or a registration counts. Everything else is ignored. */
const metadata = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string().max(2000)).min(1).max(MAX_REDIRECTS),
  grant_types: z.array(z.string()).optional(),
});

/** A client that is unknown, or whose document cannot be used. The message says why. */
export class UnknownClientError extends Error {
  /** Whether the document could not be read now. Its client must not forget its grant because of that. */
  readonly isTemporary: boolean;

  constructor(message: string, { isTemporary = false }: { readonly isTemporary?: boolean } = {}) {
    super(message);
    this.isTemporary = isTemporary;
  }
}

export interface ClientFinder {
  /** Finds a client, and fetches its document if it is not stored. @throws UnknownClientError for a document that cannot be used. */
  find(id: string): Promise<DescribedClient | undefined>;
}

interface ClientParts {
  readonly config: Pick<Config, 'OAUTH_CLIENTS' | 'OAUTH_CLIENT_DOCUMENTS' | 'OAUTH_CLIENT_HOSTS'>;
  readonly outbound: Outbound;
  /** The unit of work of the current request. */
  readonly em: () => EntityManager;
  /** Counts a document that is fetched for the current request. @throws DomainError (429) when it is one too many. */
  readonly countFetch: () => void;
  readonly now: () => Date;
}

export const createClientFinder = (parts: ClientParts): ClientFinder => ({
  async find(id) {
    if (id === GATEWAY_CLIENT_ID) return described(OWN_CLIENT);
    const known = parts.config.OAUTH_CLIENTS.find((each) => each.id === id);
    if (known) return described(clientOf(id, { client_name: known.name, redirect_uris: known.redirectUris }));
    if (/^https?:/i.test(id)) return described(await clientOfDocument(id, parts));
    const registered = await findArtifact(parts.em(), { kind: REGISTERED, id }, parts.now());
    return registered && described(clientOf(id, metadata.parse(registered.payload)));
  },
});

const OWN_CLIENT: Client = {
  client_id: GATEWAY_CLIENT_ID,
  client_name: 'Recorder',
  redirect_uris: [],
  grant_types: [DEVICE_CODE, 'refresh_token'],
};

const described = (client: Client): DescribedClient => ({
  ...client,
  response_types: client.redirect_uris.length > 0 ? ['code'] : [],
  token_endpoint_auth_method: 'none',
  // Only native clients may choose the port of a loopback address, and have schemes of apps.
  application_type: client.redirect_uris.every((uri) => uri.startsWith('https:')) ? 'web' : 'native',
});

/** Whether every address that a client can lead the browser to is on the computer of the person. */
export const isOnlyLocal = ({ redirect_uris: uris }: Client): boolean => uris.length > 0 && uris.every(isLoopback);

/** The host of the metadata document of a client; null for others. */
export const documentHostOf = (id: string): string | null => (/^https?:/i.test(id) ? new URL(id).host : null);

/** @throws UnknownClientError for an address that the browser must not be led to. */
function clientOf(id: string, given: z.output<typeof metadata>, canUseSchemes = true): Client {
  for (const uri of given.redirect_uris)
    if (!isRedirect(uri, canUseSchemes))
      throw new UnknownClientError(
        `redirect_uris: ${uri.slice(0, 200)} is neither an https address nor http on this computer${canUseSchemes ? ', and its scheme is none of an app, such as com.example.app' : ''}`,
      );
  const name =
    given.client_name?.replaceAll(/[\p{C}\s]+/gu, ' ').trim() || documentHostOf(id) || 'An app without a name';
  const flows = [
    'authorization_code',
    'refresh_token',
    ...(given.grant_types?.includes(DEVICE_CODE) ? [DEVICE_CODE] : []),
  ];
  return {
    client_id: id,
    // Half a character at the end cannot be stored.
    client_name: name.slice(0, MAX_NAME).replace(/\p{Cs}$/u, ''),
    redirect_uris: given.redirect_uris,
    grant_types: flows,
  };
}

/** A registration. @throws UnknownClientError with what is wrong. */
export function registeredClient(id: string, body: unknown): Client {
  const parsed = metadata.safeParse(body);
  if (!parsed.success) throw new UnknownClientError(`redirect_uris: 1 to ${MAX_REDIRECTS} addresses are required`);
  return clientOf(id, parsed.data, false);
}

async function clientOfDocument(id: string, parts: ClientParts): Promise<Client> {
  if (!parts.config.OAUTH_CLIENT_DOCUMENTS)
    throw new UnknownClientError('the operator of this gateway does not allow clients with a metadata document');
  requireUsableAddress(id, parts);
  const stored = await findArtifact(parts.em(), { kind: DOCUMENT, id }, parts.now());
  if (stored) return clientOf(id, metadata.parse(stored.payload));
  parts.countFetch();
  const { text, seconds } = await fetchDocument(id, parts.outbound);
  const expiresAt = new Date(parts.now().getTime() + seconds * 1000);
  const client = clientOf(id, parsedDocument(id, text));
  await saveArtifact(parts.em(), { id, kind: DOCUMENT, payload: { ...client }, keyId: null, expiresAt });
  return client;
}

/** The address must be written as browsers write it, so that it names one document and is shown as it is. */
function requireUsableAddress(id: string, { config, outbound }: ClientParts): void {
  const url = id.length <= 1000 && URL.canParse(id) ? new URL(id) : undefined;
  const isSecure = url?.protocol === 'https:' || (outbound.allowsPrivateNetwork && isLoopback(id));
  if (!url || url.href !== id || !isSecure || url.username !== '' || url.password !== '' || id.includes('#'))
    throw new UnknownClientError('client_id must be the https address of a metadata document');
  if (url.pathname === '/') throw new UnknownClientError('client_id must have a path');
  const hosts = config.OAUTH_CLIENT_HOSTS;
  if (hosts.length > 0 && !hosts.includes(url.host))
    throw new UnknownClientError(`the operator of this gateway does not allow clients of ${url.host}`);
}

async function fetchDocument(id: string, outbound: Outbound): Promise<{ text: string; seconds: number }> {
  try {
    const headers = { Accept: 'application/json' };
    const work = outbound.begin(DOCUMENT_MS);
    const answer = await work.fetch(id, { headers, redirect: 'manual' }, { maxBytes: DOCUMENT_BYTES });
    const text = await answer.text();
    if (answer.status !== 200)
      throw new UnknownClientError(`the metadata document of the client answers ${answer.status} instead of 200`, {
        isTemporary: answer.status >= 500 || answer.status === 429,
      });
    // Otherwise whoever can publish a text on a host could be a client of the host.
    if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(answer.headers.get('content-type') ?? ''))
      throw new UnknownClientError('the metadata document of the client is not served as application/json');
    return { text, seconds: lifetimeOf(answer.headers.get('cache-control')) };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { isTemporary } = error;
    throw new UnknownClientError(`the metadata document of the client cannot be read: ${error.message}`, {
      isTemporary,
    });
  }
}

function lifetimeOf(cacheControl: string | null): number {
  const given = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl ?? '')?.[1];
  const isNotCached = /(?:^|,)\s*no-(?:store|cache)\b/i.test(cacheControl ?? '');
  const wanted = isNotCached ? 0 : Number(given ?? DEFAULT_SECONDS);
  return Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, wanted));
}

function parsedDocument(id: string, text: string): z.output<typeof metadata> {
  const fault = new UnknownClientError('the metadata document of the client is no JSON object with redirect_uris');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw fault;
  }
  const own = z.object({ client_id: z.string() }).safeParse(json);
  if (own.success && own.data.client_id !== id)
    throw new UnknownClientError('the metadata document of the client names another client_id');
  const parsed = metadata.safeParse(json);
  if (!own.success || !parsed.success) throw fault;
  return parsed.data;
}
