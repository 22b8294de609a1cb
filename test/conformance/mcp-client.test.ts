import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PROBE_MS } from '../../src/domains/mcp-connections/remote/mcp-fetch.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { proof } from '../support/proof.ts';
import { type Driver, startDriver } from './mcp-driver.ts';

/** The client scenarios of the conformance suite of the Model Context Protocol, with connections that are created through the API. */

const here = import.meta.dirname;
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const expectedFailures = join(here, 'mcp-expected-failures.yml');

const RUNS = [
  { title: 'requirements of 2025-11-25', options: ['--requirements', '2025-11-25'] },
  { title: 'requirements of 2026-07-28', options: ['--requirements', '2026-07-28'] },
];

const noUserToAsk = 'the gateway calls no tools, so it has no user to ask and announces no such capability';
const REASONS: Record<string, string> = {
  'elicitation-sep1034-client-defaults': noUserToAsk,
  'sep-2322-client-request-state': noUserToAsk,
  'auth/client-credentials-jwt':
    'an extension; a connection has a client secret, and no field for a private key (workspace-management-api.md, 4.1)',
  'auth/enterprise-managed-authorization':
    'an extension; needs an identity provider of the enterprise, which a connection cannot name',
  'auth/dpop': 'an extension; tokens are used as bearer tokens',
  'auth/dpop-nonce': 'an extension; tokens are used as bearer tokens',
  'auth/wif-jwt-bearer': 'an extension; a connection has no workload identity',
};

const checksSchema = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }));

let gateway: TestGateway;
let driver: Driver;
let folder: string;
const tables: string[] = [];
const figures: Record<string, string> = {};

beforeAll(async () => {
  gateway = await startTestGateway(
    {
      ALLOW_PRIVATE_NETWORK: 'true',
      // The address that the suite expects. It is never requested.
      CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json',
    },
    // The suite starts all scenarios at once, so that its servers may answer a version probe late.
    { outbound: { deadlineAfter: (ms) => AbortSignal.timeout(ms === PROBE_MS ? 10 * ms : ms) } },
  );
  driver = await startDriver(gateway);
  folder = await mkdtemp(join(tmpdir(), 'gateway-mcp-'));
});

afterAll(async () => {
  await driver.stop();
  await gateway.close();
  await rm(folder, { recursive: true, force: true });
});

/** The exit code of the suite with the expected failures; if it is not 0, also the output of the suite and its clients. */
async function run(options: readonly string[], results: string): Promise<{ code: number | null; output: string }> {
  const command = `${process.execPath} ${join(here, 'mcp-command.ts')} ${driver.url}`;
  const loopback = join(here, 'loopback.ts');
  const child = spawn(
    process.execPath,
    // oxfmt-ignore
    ['--import', loopback, suite, 'client', '--command', command, '--expected-failures', expectedFailures, '--timeout', '60000', '-o', results, ...options],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code === 0) return { code, output: '' };
  for (const file of await readdir(results, { recursive: true })) {
    if (file.endsWith('stderr.txt')) output += `${file}: ${await readFile(join(results, file), 'utf8')}\n`;
  }
  return { code, output };
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
    '$title: every scenario passes, except the expected failures, which have reasons',
    async ({ title, options }) => {
      const results = join(folder, title.replaceAll(' ', '-'));
      expect(await run(options, results)).toEqual({ code: 0, output: '' });
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

  test('the checked-in table of results is current', async () => {
    expect(tables).toHaveLength(RUNS.length);
    const text = `# Client scenarios of @modelcontextprotocol/conformance\n\nWritten and checked by mcp-client.test.ts (\`vitest run --project conformance -u\` updates it).\n\n`;
    await expect(text + tables.join('\n')).toMatchFileSnapshot('mcp-results.md');
    proof('MCP client conformance', {
      figures,
      shortfalls: Object.entries(REASONS).map(([scenario, reason]) => `${scenario}: ${reason}`),
    });
  });
});
