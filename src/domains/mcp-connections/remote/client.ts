import { Client, StreamableHTTPClientTransport, extractWWWAuthenticateParams } from '@modelcontextprotocol/client';
import { RemoteFailedError } from '../../../core/errors.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import { AuthorizationNeeded, explainRemote } from './errors.ts';

/** What is shown to an MCP server with each request. */
export interface Access {
  readonly headers?: Readonly<Record<string, string>>;
  readonly accessToken?: string | undefined;
}

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string | null;
}

/** A tool as the live server describes it. */
export interface Tool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: unknown;
}

/** Politeness towards a server with sessions, but no more than this. */
const FAREWELL_MS = 1_000;
const noop = () => undefined;

/**
 * Connects to an MCP server over Streamable HTTP in the protocol generation that it speaks (`server/discover`, else `initialize`), uses it,
 * and closes. Each use has a fresh transport.
 * @throws AuthorizationNeeded on 401, and on 403 with `insufficient_scope`; RemoteFailedError with the cause for everything else.
 */
export async function withServer<Result>(
  work: OutboundWork,
  serverUrl: string,
  access: Access,
  use: (client: Client, info: ServerInfo) => Promise<Result>,
): Promise<Result> {
  const transport = new StreamableHTTPClientTransport(new URL(serverUrl), {
    fetch: work.fetch,
    // Redirects are followed by our own fetch.
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
  const client = new Client(
    { name: 'workspace-gateway', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' }, listMaxPages: 16 },
  );
  // An error of the transport outside of a request fails that request, too, or concerns no request.
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

/** Whether a server works. Some accept `initialize` from anybody, and ask for authorization only when their tools are listed. */
export async function checkServer(client: Client, info: ServerInfo, { signal }: OutboundWork): Promise<ServerInfo> {
  await listTools(client, signal);
  return info;
}

/** Its tools, in at most 16 pages; none where it offers none. */
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

/** A server may keep a stream open and say nothing: waiting ends with the work's deadline all the same. */
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
