import { Client, StreamableHTTPClientTransport, extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import { RemoteFailedError } from '../../../core/errors.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import { AuthorizationNeeded, explainRemote } from './errors.ts';

/** The credentials that are sent to an MCP server with each request. */
export interface Access {
  readonly headers?: Readonly<Record<string, string>>;
  readonly accessToken?: string | undefined;
}

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string | null;
}

/** A tool as the server describes it. */
export interface Tool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: unknown;
}

/** Maximum time for closing the session at the server. */
const FAREWELL_MS = 1_000;
const noop = () => undefined;

/**
 * Connects to an MCP server over Streamable HTTP, calls `use`, and closes the connection. The protocol generation is detected with
 * `server/discover`, else `initialize`. Each call has a new transport.
 * @throws AuthorizationNeeded for 401, and for 403 with `insufficient_scope`; RemoteFailedError with the cause for everything else.
 */
export async function withServer<Result>(
  work: OutboundWork,
  serverUrl: string,
  access: Access,
  use: (client: Client, info: ServerInfo) => Promise<Result>,
): Promise<Result> {
  const transport = transportTo(work, serverUrl, access);
  const client = new Client(
    { name: 'workspace-gateway', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' }, listMaxPages: 16 },
  );
  // Errors of the transport also reject the request that they belong to. Others can be ignored.
  client.onerror = noop;
  try {
    return await untilDeadline(work.signal, serverUrl, async () => {
      await client.connect(transport, { signal: work.signal, timeout: 30_000 });
      const { name = '', version = '' } = client.getServerVersion() ?? {};
      return use(client, { name, version, protocolVersion: client.getNegotiatedProtocolVersion() ?? null });
    });
  } catch (error) {
    throw explainRemote(error, 'the MCP server');
  } finally {
    if (transport.sessionId !== undefined && !work.signal.aborted)
      await Promise.race([transport.terminateSession().catch(noop), sleep(FAREWELL_MS)]);
    await client.close().catch(noop);
  }
}

function transportTo(work: OutboundWork, serverUrl: string, access: Access): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(serverUrl), {
    fetch: work.fetch,
    // The `fetch` of the outbound module checks and follows redirects.
    redirectPolicy: 'follow',
    requestInit: { headers: { ...access.headers } },
    onInsufficientScope: 'throw',
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 1000,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 2,
    },
    authProvider: {
      token: () => Promise.resolve(access.accessToken),
      onUnauthorized: ({ response }) => Promise.reject(new AuthorizationNeeded(extractWWWAuthenticateParams(response))),
    },
  });
}

/**
 * Checks that a server works. It lists the tools too, because some servers require authorization only for that and not
 * for `initialize`.
 */
export async function checkServer(client: Client, info: ServerInfo, { signal }: OutboundWork): Promise<ServerInfo> {
  await listTools(client, signal);
  return info;
}

/** Reads the tools of a server, at most 16 pages. A server without tools gives an empty list. */
export async function listTools(client: Client, signal: AbortSignal): Promise<Tool[]> {
  if (!client.getServerCapabilities()?.tools) return [];
  return client.listTools({}, { signal, timeout: 30_000 }).then(({ tools }) =>
    tools.map(({ name, title, description, inputSchema }) => ({
      name,
      title: title ?? null,
      description: description ?? null,
      inputSchema,
    })),
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

/** Stops waiting at the deadline of the request, also when the server keeps a stream open and sends nothing. */
async function untilDeadline<Result>(
  signal: AbortSignal,
  serverUrl: string,
  run: () => Promise<Result>,
): Promise<Result> {
  let onAbort = noop;
  const deadline = new Promise<never>((_, reject) => {
    onAbort = () =>
      reject(
        new RemoteFailedError(`the MCP server failed: ${new URL(serverUrl).host} did not answer in time`),
      ) as undefined;
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  deadline.catch(noop);
  try {
    const running = run();
    running.catch(noop);
    return await Promise.race([running, deadline]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
