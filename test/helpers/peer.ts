import { createGateway } from '../../src/gateway/gateway.ts';
import { type Dependencies, createDependencies } from '../../src/gateway/dependencies.ts';
import { type Answer, type Fetch, type TestGateway, fetchOf } from './gateway.ts';

/** A second gateway on the same database, with connections of its own: what another process would be. */
export async function startPeer(
  first: TestGateway,
): Promise<{ fetch: Fetch; dependencies: Dependencies; close(): Promise<void> }> {
  const { config, secrets, log } = first.dependencies;
  const dependencies = await createDependencies({ config, databaseUrl: first.databaseUrl, secrets, log });
  return { fetch: fetchOf(createGateway(dependencies)), dependencies, close: () => dependencies.close() };
}

export interface SendOptions {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit;
}

/** A request exactly as given, and the whole text of its answer. */
export async function send(
  gateway: Pick<TestGateway, 'fetch'>,
  method: string,
  path: string,
  { key, headers, body }: SendOptions = {},
): Promise<Answer<unknown>> {
  const response = await gateway.fetch(path, {
    method,
    headers: { ...(key && { Authorization: `Bearer ${key}` }), ...headers },
    ...(body !== undefined && { body, duplex: 'half' }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as unknown) : undefined,
  };
}

/** Every row of every table, as text: what a dump would show. */
export async function dumpTables({ dependencies }: TestGateway): Promise<string> {
  const { sql } = dependencies;
  const tables = await sql.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    [],
  );
  const dumps = tables.map(async ({ name }) => {
    const rows = await sql.query<{ row: string }>(`select t::text as row from "${name}" t order by 1`, []);
    return [name, ...rows.map(({ row }) => row)].join('\n');
  });
  return (await Promise.all(dumps)).join('\n');
}
