import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { mcpClient } from '../../../core/mcp-packages.ts';
import { RemoteFailedError, causesOf } from '../../../core/errors.ts';
import { OutboundError, type OutboundWork } from '../../../core/outbound/outbound.ts';
import { AuthorizationNeeded, RefusedError, explainRemote } from './errors.ts';
import { McpExchange } from './mcp-fetch.ts';
import { listTools } from './tools.ts';

/** The credentials that are sent to an MCP server with each request. */
export interface Access {
  readonly headers?: Readonly<Record<string, string>>;
  readonly accessToken?: string | undefined;
}

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string | null;
  /** Whether it is of the newest generation of the protocol. */
  readonly isModern: boolean;
}

type Use<Result> = (client: Client, info: ServerInfo) => Promise<Result>;

/** Maximum time for closing the session at the server. */
const FAREWELL_MS = 1_000;
const noop = () => undefined;

/** How a connection is begun: with the version probe, or with `initialize` for the given revisions. */
type Opening = { readonly probes: true } | { readonly probes: false; readonly versions?: string[] };

/**
 * Connects to an MCP server over Streamable HTTP, calls `use`, and closes the connection. The protocol generation is detected with
 * `server/discover`; if that fails in any way, the answer to `initialize` decides. Each call has a new transport.
 * @throws AuthorizationNeeded for 401, and for 403 with `insufficient_scope`; RemoteFailedError with the cause for everything else.
 */
export async function withServer<Result>(
  work: OutboundWork,
  serverUrl: string,
  access: Access,
  use: Use<Result>,
): Promise<Result> {
  const tried = new Set<string>();
  let needed: AuthorizationNeeded | undefined;
  for (let opening: Opening = { probes: true }; ;) {
    const attempt = new Attempt(work, serverUrl, access, opening);
    try {
      return await attempt.run(use);
    } catch (error) {
      const explained = explainRemote(attempt.exchange.failure ?? error, 'the MCP server');
      const next = work.signal.aborted ? undefined : attempt.nextOpening(error);
      if (!next || tried.has(next.reason)) {
        // A server may check the authorization first and understand only the newer protocol generation.
        const isRefused = explained instanceof RefusedError && !explained.isTemporary;
        throw (isRefused && needed) || explained;
      }
      if (explained instanceof AuthorizationNeeded) needed = explained;
      tried.add(next.reason);
      opening = next.opening;
    }
  }
}

/** One connection to a server. */
class Attempt {
  readonly exchange: McpExchange;
  readonly #work: OutboundWork;
  readonly #serverUrl: string;
  readonly #opening: Opening;
  readonly #transport: StreamableHTTPClientTransport;
  #isOpen = false;
  #hasSession = false;

  constructor(work: OutboundWork, serverUrl: string, access: Access, opening: Opening) {
    // A header such as Authorization has the name of a scheme before the secret.
    const values = Object.values(access.headers ?? {}).flatMap((value) => [value, value.split(' ')[1]]);
    this.exchange = new McpExchange(work, [access.accessToken, ...values]);
    this.#work = work;
    this.#serverUrl = serverUrl;
    this.#opening = opening;
    this.#transport = new (mcpClient().StreamableHTTPClientTransport)(new URL(serverUrl), {
      fetch: this.exchange.fetch,
      // The `fetch` of the outbound module checks and follows redirects.
      redirectPolicy: 'follow',
      requestInit: { headers: headersFor(access) },
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 1000,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 2,
      },
    });
  }

  async run<Result>(use: Use<Result>): Promise<Result> {
    const client = new (mcpClient().Client)({ name: 'workspace-gateway', version: '1.0.0' }, optionsFor(this.#opening));
    // Errors of the transport also reject the request that they belong to. Others can be ignored.
    client.onerror = noop;
    const { signal } = this.#work;
    const late = () =>
      new RemoteFailedError(
        `the MCP server failed: ${new URL(this.#serverUrl).host} did not answer in time`,
        undefined,
        { reason: 'UPSTREAM_TIMEOUT' },
      );
    try {
      return await beforeAbort(signal, late, async () => {
        const connecting = client.connect(this.#transport, { signal, timeout: 30_000 });
        // The package notices only that headers are late.
        await (this.#opening.probes ? this.#probed(connecting, late) : connecting);
        this.#isOpen = true;
        const { name = '', version = '' } = client.getServerVersion() ?? {};
        const protocolVersion = client.getNegotiatedProtocolVersion() ?? null;
        return use(client, { name, version, protocolVersion, isModern: client.getProtocolEra() === 'modern' });
      });
    } finally {
      this.#hasSession = this.#transport.sessionId !== undefined;
      if (this.#hasSession && !signal.aborted)
        await Promise.race([this.#transport.terminateSession().catch(noop), sleep(FAREWELL_MS)]);
      await client.close().catch(noop);
    }
  }

  /** Waits for the connection, but not longer than the probe may take while no other request was sent. */
  async #probed(connecting: Promise<void>, late: () => Error): Promise<void> {
    await beforeAbort(this.exchange.probeSignal, late, () => connecting).catch(async (error: unknown) => {
      if (this.exchange.isProbing || !this.exchange.probeSignal.aborted) throw error;
      await connecting;
    });
  }

  /** Another way to begin the connection after this failure, if there is one. */
  nextOpening(error: unknown): { readonly reason: string; readonly opening: Opening } | undefined {
    if (this.#opening.probes && this.exchange.isProbing) return { reason: 'probe', opening: { probes: false } };
    if (causesOf(error).some((cause) => cause instanceof OutboundError && !cause.isTemporary)) return undefined;
    const { refusal, refusalText = rpcErrorIn(error) } = this.exchange;
    // A session that the server has lost is begun anew (Streamable HTTP, Session Management).
    if (this.#hasSession && saysLostSession(refusal?.httpStatus, refusalText))
      return { reason: 'session', opening: this.#opening };
    const version = this.#isOpen ? undefined : this.#olderVersion(refusalText);
    return version === undefined ? undefined : { reason: version, opening: { probes: false, versions: [version] } };
  }

  /** The revision to try after a refusal: the newest that it names, or the next older one if it only complains about the version. */
  #olderVersion(refusal: string): string | undefined {
    const { versions: [refused = mcpClient().LATEST_PROTOCOL_VERSION] = [] } =
      'versions' in this.#opening ? this.#opening : {};
    const older = mcpClient().SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < refused);
    const named = older.find((version) => refusal.includes(version));
    return named ?? (/version/i.test(refusal) ? older[0] : undefined);
  }
}

/** The specification asks for HTTP 404. Some servers answer with another status and say it in words. */
const saysLostSession = (httpStatus: number | undefined, text: string): boolean =>
  httpStatus === 404 || httpStatus === 410 || ((httpStatus ?? 400) === 400 && /session/i.test(text));

const headersFor = ({ headers, accessToken }: Access): Record<string, string> => ({
  ...headers,
  ...(accessToken !== undefined && { Authorization: `Bearer ${accessToken}` }),
});

function optionsFor(opening: Opening) {
  if (opening.probes) return { versionNegotiation: { mode: 'auto' as const, probe: { timeoutMs: 30_000 } } };
  return opening.versions ? { supportedProtocolVersions: opening.versions } : {};
}

/** Message and data of an error of JSON-RPC; empty for other errors. */
function rpcErrorIn(error: unknown): string {
  const refused = causesOf(error).find((cause) => cause instanceof mcpClient().ProtocolError);
  return refused ? JSON.stringify([refused.message, refused.data]) : '';
}

/**
 * Checks that a server works. It lists the tools too, because some servers require authorization only for that and not
 * for `initialize`.
 */
export async function checkServer(client: Client, info: ServerInfo, { signal }: OutboundWork): Promise<ServerInfo> {
  await listTools(client, signal);
  return info;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref());

/** Stops waiting when the signal aborts, also when the server keeps a stream open and sends nothing. */
async function beforeAbort<Result>(
  signal: AbortSignal,
  errorOf: () => Error,
  run: () => Promise<Result>,
): Promise<Result> {
  let onAbort = noop;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(errorOf()) as undefined;
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  aborted.catch(noop);
  try {
    const running = run();
    running.catch(noop);
    return await Promise.race([running, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
