import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { McpConnection } from '../../src/domains/mcp-connections/entity.ts';
import { useServer } from '../../src/domains/mcp-connections/remote/session.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import type { TestGateway } from '../support/fixtures/gateway.ts';
import { visit } from '../support/fixtures/mcp-connections.ts';

/**
 * Acts as a user who connects an MCP server: creates a connection, follows `authorizationUrl` to the consent page and
 * back, reads the tools, and authorizes again when that is required. The suite starts a command for each scenario
 * (`mcp-command.ts`), which sends the scenario here.
 */

const CALLBACK = '/v1/mcp-connections/oauth/callback';
/** Maximum number of authorizations after the first. */
const MAX_RETRIES = 2;
const NOT_AUTHORIZED = 'the MCP connection must be authorized';

const scenarioSchema = z.object({
  scenario: z.string(),
  serverUrl: z.string(),
  context: z
    .object({
      client_id: z.string().optional(),
      client_secret: z.string().optional(),
      toolCalls: z.array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })).optional(),
    })
    .default({}),
});
type Scenario = z.output<typeof scenarioSchema>;

interface Tool {
  name: string;
  inputSchema: { properties?: Record<string, { type?: string }> };
  problem: string | null;
}

interface Result {
  authorizationUrl: string | null;
  connection: { id: string };
}

export interface Driver {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startDriver(gateway: TestGateway): Promise<Driver> {
  const { key } = await gateway.createKey();

  async function ask(path: string, body?: unknown): Promise<Result> {
    const answer = await gateway.rest<Result & { error?: string }>('POST', path, { key, body });
    if (answer.status >= 300) throw new Error(`${answer.status} ${answer.body.error}`);
    return answer.body;
  }

  /** The suite consents immediately: it redirects the browser to the callback, whose page shows the result. */
  async function consent(authorizationUrl: string): Promise<void> {
    const { headers } = await fetch(authorizationUrl, { redirect: 'manual' });
    const back = new URL(headers.get('location') ?? 'missing:');
    if (back.pathname !== CALLBACK) throw new Error(`redirected to ${back.href}`);
    const { status, text: page } = await visit(gateway, back);
    if (status !== 200 && !page.includes(NOT_AUTHORIZED)) throw new Error(/<p>.*/.exec(page)?.[0] ?? page);
  }

  async function readTools(id: string): Promise<Tool[]> {
    const globalId = Buffer.from(`McpServer:${id}`).toString('base64');
    const { data, errors } = await gateway.graphql<{ node: { tools: Tool[] } }>(
      key,
      'query ($id: ID!) { node(id: $id) { ... on McpServer { tools { name inputSchema problem } } } }',
      { id: globalId },
    );
    if (!data || errors) throw new Error(errors?.map(({ message }) => message).join('; '));
    return data.node.tools;
  }

  /** No operation of the API calls tools, so this uses the internal session with the server. */
  async function callTools(id: string, calls: NonNullable<Scenario['context']['toolCalls']>): Promise<void> {
    const context = workContext(gateway.dependencies);
    const connection = await context.em.findOneOrFail(McpConnection, { id });
    await useServer(context, connection, async (client, _, { signal }) => {
      // The client must have read a tool to send the headers that the tool requires.
      if (calls.length > 0) await client.listTools({}, { signal });
      for (const call of calls) await client.callTool(call, { signal });
    });
  }

  async function run({ scenario, serverUrl, context: given }: Scenario): Promise<void> {
    const created = await ask('/v1/mcp-connections', {
      name: randomUUID(),
      serverUrl,
      ...credentialsOf(scenario, given),
    });
    const { id } = created.connection;
    if (created.authorizationUrl) await consent(created.authorizationUrl);
    for (let round = 1; ; round += 1) {
      try {
        const tools = await readTools(id);
        // The gateway lists a tool that a client must reject, and says why.
        const usable = tools.filter(({ problem }) => problem === null);
        return await callTools(id, given.toolCalls ?? usable.map((tool) => sampleCall(tool, tools)));
      } catch (error) {
        const isRefused = error instanceof Error && error.message.startsWith(NOT_AUTHORIZED);
        if (!isRefused || round > MAX_RETRIES) throw error;
        const { authorizationUrl } = await ask(`/v1/mcp-connections/${id}/authorize`);
        if (authorizationUrl) await consent(authorizationUrl);
      }
    }
  }

  const server = createServer((request, response) => {
    void text(request)
      .then((body) => run(scenarioSchema.parse(JSON.parse(body))))
      .then(
        () => response.writeHead(204).end(),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function credentialsOf(scenario: string, { client_id: clientId, client_secret: clientSecret }: Scenario['context']) {
  if (clientId === undefined) return {};
  return scenario.startsWith('auth/client-credentials')
    ? { authType: 'client_credentials', clientId, clientSecret: clientSecret ?? 'none' }
    : { clientId, clientSecret };
}

/** A call with a value of the right type for every property. The tool that echoes a schema gets one as the API returned it. */
function sampleCall({ name, inputSchema }: Tool, tools: readonly Tool[]) {
  const values: Record<string, unknown> = { number: 5, integer: 5, boolean: true, string: 'text' };
  const sample = Object.entries(inputSchema.properties ?? {}).map(([key, { type }]) => [key, values[type ?? 'string']]);
  const echoed = tools.find((tool) => tool.name !== name) ?? { inputSchema };
  return {
    name,
    arguments: name === 'json_schema_echo' ? { schema: echoed.inputSchema } : Object.fromEntries(sample),
  };
}
