import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { proof } from '../support/proof.ts';
import { type Driver, startDriver } from './mcp-driver.ts';

/** The client scenarios of the Model Context Protocol's own conformance suite, against connections that are made through our API. */

const here = import.meta.dirname;
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const expectedFailures = join(here, 'mcp-expected-failures.yml');

const RUNS = [
  { title: 'requirements of 2025-11-25', options: ['--requirements', '2025-11-25'] },
  { title: 'requirements of 2026-07-28', options: ['--requirements', '2026-07-28'] },
];

const asksItsUser = 'the gateway calls no tools for anybody, so it has no user to ask and does not say that it could';
const REASONS: Record<string, string> = {
  'elicitation-sep1034-client-defaults': asksItsUser,
  'sep-2322-client-request-state': asksItsUser,
  'auth/client-credentials-jwt':
    'an extension; a connection has a client secret, and no field for a private key (workspace-management-api.md, 4.1)',
  'auth/enterprise-managed-authorization':
    'an extension; needs an identity provider of the enterprise, which a connection does not name',
  'auth/dpop': 'an extension; tokens are used as bearer tokens',
  'auth/dpop-nonce': 'an extension; tokens are used as bearer tokens',
  'auth/wif-jwt-bearer': 'an extension; a connection holds no identity of a workload',
};

const checksSchema = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }));

let gateway: TestGateway;
let driver: Driver;
let folder: string;
const tables: string[] = [];
const figures: Record<string, string> = {};

beforeAll(async () => {
  gateway = await startTestGateway({
    ALLOW_PRIVATE_NETWORK: 'true',
    // The address that the suite expects; nobody reads what is there.
    CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json',
  });
  driver = await startDriver(gateway);
  folder = await mkdtemp(join(tmpdir(), 'gateway-mcp-'));
});

afterAll(async () => {
  await driver.stop();
  await gateway.close();
  await rm(folder, { recursive: true, force: true });
});

/** The suite's own verdict, given what is expected to fail, and, where it is another one, all that it and its clients said. */
async function run(options: readonly string[], results: string): Promise<{ code: number | null; said: string }> {
  const command = `${process.execPath} ${join(here, 'mcp-command.ts')} ${driver.url}`;
  const loopback = join(here, 'loopback.ts');
  const child = spawn(
    process.execPath,
    // oxfmt-ignore
    ['--import', loopback, suite, 'client', '--command', command, '--expected-failures', expectedFailures, '--timeout', '60000', '-o', results, ...options],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code === 0) return { code, said: '' };
  for (const file of await readdir(results, { recursive: true })) {
    if (file.endsWith('stderr.txt')) said += `${file}: ${await readFile(join(results, file), 'utf8')}\n`;
  }
  return { code, said };
}

interface Row {
  readonly scenario: string;
  readonly passed: number;
  readonly failed: string[];
}

async function readResults(results: string): Promise<Row[]> {
  const files = (await readdir(results, { recursive: true })).filter((file) => file.endsWith('checks.json'));
  const rows = files.map(async (file): Promise<Row> => {
    const checks = checksSchema.parse(JSON.parse(await readFile(join(results, file), 'utf8')));
    const scenario = relative('.', dirname(file)).replace(/-\d{4}-\d{2}-\d{2}T[\dZ-]+$/, '');
    const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING').map(({ id }) => id);
    return { scenario, passed: checks.filter(({ status }) => status === 'SUCCESS').length, failed };
  });
  return (await Promise.all(rows)).toSorted((a, b) => (a.scenario < b.scenario ? -1 : 1));
}

function tableOf(title: string, rows: readonly Row[]): string {
  const lines = rows.map(({ scenario, failed }) =>
    failed.length === 0
      ? `| ${scenario} | passes | |`
      : `| ${scenario} | fails: ${[...new Set(failed)].toSorted().join(', ')} | ${REASONS[scenario]} |`,
  );
  return `## ${title}\n\n| scenario | result | reason |\n| --- | --- | --- |\n${lines.join('\n')}\n`;
}

describe('the conformance suite for MCP clients', () => {
  test.each(RUNS)(
    '$title: every scenario passes that is not expected to fail, and each of those has its reason',
    async ({ title, options }) => {
      const results = join(folder, title.replaceAll(' ', '-'));
      expect(await run(options, results)).toEqual({ code: 0, said: '' });
      const rows = await readResults(results);
      const failing = rows.filter(({ failed }) => failed.length > 0).map(({ scenario }) => scenario);
      expect(rows.length).toBeGreaterThanOrEqual(25);
      expect(failing.filter((scenario) => REASONS[scenario] === undefined)).toEqual([]);
      tables.push(tableOf(title, rows));
      const auth = rows.filter(({ scenario }) => scenario.startsWith('auth/'));
      figures[title] =
        `${rows.length - failing.length} of ${rows.length} scenarios pass, of auth/* ` +
        `${auth.filter(({ failed }) => failed.length === 0).length} of ${auth.length}; ` +
        `${rows.reduce((sum, { passed }) => sum + passed, 0)} checks`;
    },
  );

  test('the table of results is the one that is checked in', async () => {
    expect(tables).toHaveLength(RUNS.length);
    const text = `# Client scenarios of @modelcontextprotocol/conformance\n\nWritten by mcp-client.test.ts (\`vitest run --project conformance -u\`), and compared by it.\n\n`;
    await expect(text + tables.join('\n')).toMatchFileSnapshot('mcp-results.md');
    proof('MCP client conformance', {
      figures,
      shortfalls: Object.entries(REASONS).map(([scenario, reason]) => `${scenario}: ${reason}`),
    });
  });
});
