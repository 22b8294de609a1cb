import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCOPES } from '../../src/core/access.ts';
import { nameFromLabel } from '../../src/domains/event-definitions/naming.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';

const EXAMPLES = new URL('../../docs/examples/', import.meta.url);
const SCRIPT = fileURLToPath(new URL('create-tracking-plan.sh', EXAMPLES));
const QUERY = readFileSync(new URL('tracking-plan.graphql', EXAMPLES), 'utf8');

interface PlannedProperty {
  label: string;
  name?: string;
  type: string;
  options?: { label: string; value: string }[];
}

interface PlannedEvent {
  label: string;
  name: string;
  description: string;
  primaryObject?: string;
  customMatchingId?: object;
  includeDefaultProperties?: boolean;
  propertyDefinitions: PlannedProperty[];
}

const plan = readFileSync(new URL('shop-tracking-plan.ndjson', EXAMPLES), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): PlannedEvent => JSON.parse(line));

let gateway: TestGateway;
let server: RunningServer;
beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await server.stop(1_000);
  await gateway.close();
});

/** Runs the script like a new user, with sh and curl. The test fails on a machine without them. */
async function createPlan(
  key: string,
  ...args: string[]
): Promise<{ code: number; stdout: string[]; stderr: string[] }> {
  const env = { PATH: process.env['PATH'], GATEWAY_URL: server.url, GATEWAY_KEY: key };
  const linesOf = (text: string) => text.split('\n').filter(Boolean);
  try {
    const { stdout, stderr } = await promisify(execFile)('sh', [SCRIPT, ...args], { env });
    return { code: 0, stdout: linesOf(stdout), stderr: linesOf(stderr) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout: linesOf(stdout), stderr: linesOf(stderr) };
  }
}

interface PlanAnswer {
  viewer: {
    organization: {
      eventDefinitions: {
        totalCount: number;
        nodes: (Omit<PlannedEvent, 'propertyDefinitions'> & {
          customObjectName: string | null;
          properties: (PlannedProperty & { isDefault: boolean })[];
        })[];
        pageInfo: { hasNextPage: boolean; endCursor: string | null };
      };
    };
  };
}

async function readPlan(key: string, variables: Record<string, unknown>) {
  const { data, errors } = await gateway.graphql<PlanAnswer>(key, QUERY, variables);
  expect(errors).toBeUndefined();
  if (!data) throw new Error('no data');
  return data.viewer.organization.eventDefinitions;
}

/** The expected result of the query for a planned event. */
function expected({
  label,
  name,
  description,
  primaryObject = 'CONTACT',
  customMatchingId,
  propertyDefinitions,
}: PlannedEvent) {
  const custom = propertyDefinitions.map((property) => ({
    name: property.name ?? nameFromLabel(property.label, 'property'),
    label: property.label,
    type: property.type.toUpperCase(),
    isDefault: false,
    options: property.options ?? [],
  }));
  return { name, label, description, primaryObject, customMatchingId: customMatchingId ?? null, properties: custom };
}

test('the script creates the plan with sh and curl, GraphQL reads and searches it, and a second run creates nothing', async () => {
  const { key } = await gateway.createKey({ scopes: ['behavioral_events.event_definitions.read_write'] });
  const first = await createPlan(key);
  expect(first.stderr).toEqual([]);
  expect(first.code).toBe(0);
  const number = /pe(\d+)_/.exec(first.stdout[0] ?? '')?.[1];
  expect(first.stdout).toEqual([
    ...plan.map(({ label, name }) => `201 ${label}: pe${number}_${name}`),
    `${plan.length} created, 0 with a name in use, 0 failed`,
  ]);

  const whole = await readPlan(key, { search: '', first: 100 });
  const sorted = plan.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  expect(whole.totalCount).toBe(plan.length);
  const withoutDefaults = whole.nodes.map(({ customObjectName, ...node }) => ({
    ...node,
    primaryObject: customObjectName ?? node.primaryObject,
    properties: node.properties.filter(({ isDefault }) => !isDefault),
  }));
  expect(withoutDefaults).toEqual(sorted.map(expected));
  const defaults = whole.nodes.map(({ properties }) => properties.filter(({ isDefault }) => isDefault).length);
  expect(defaults).toEqual(sorted.map(({ includeDefaultProperties = true }) => (includeDefaultProperties ? 32 : 0)));

  const orders = sorted.filter(({ name }) => name.includes('order')).map(({ name }) => name);
  expect(orders.length).toBeGreaterThan(3);
  const searched = await readPlan(key, {});
  expect(searched.nodes.map(({ name }) => name)).toEqual(orders);
  const page = await readPlan(key, { search: 'ORDER', first: 2 });
  const next = await readPlan(key, { search: 'ORDER', first: 100, after: page.pageInfo.endCursor });
  expect([page.totalCount, ...[...page.nodes, ...next.nodes].map(({ name }) => name)]).toEqual([
    orders.length,
    ...orders,
  ]);

  const second = await createPlan(key);
  expect(second).toEqual({
    code: 0,
    stderr: [],
    stdout: [
      ...plan.map(
        ({ label, name }) =>
          `409 ${label}: ${name} already exists as the name of another event definition; choose another name`,
      ),
      `0 created, ${plan.length} with a name in use, 0 failed`,
    ],
  });
  expect((await readPlan(key, { search: '' })).totalCount).toBe(plan.length);
});

test('the script prints its errors and fails', async () => {
  const scopes = SCOPES.filter((scope) => scope !== 'behavioral_events.event_definitions.read_write');
  const { key } = await gateway.createKey({ scopes });
  const without = await createPlan(key);
  expect([without.code, without.stdout]).toEqual([1, [`0 created, 0 with a name in use, ${plan.length} failed`]]);
  expect(without.stderr[0]).toContain(
    '403 Products Searched: {"status":"error","message":"the API key lacks the scope behavioral_events.event_definitions.read_write"',
  );
  expect(await createPlan('', 'unread.ndjson')).toMatchObject({
    code: 2,
    stdout: [],
    stderr: [expect.stringContaining('set GATEWAY_KEY to an API key')],
  });
});
