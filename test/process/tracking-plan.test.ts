import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parsePlan } from '../../src/operator/tracking-plan/plan-file.ts';
import { printTypes } from '../../src/operator/tracking-plan/print-types.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { type Finished, endProcesses, run, start, temporaryDirectory } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';

/** Runs the commands of docs/tracking-plan.md, in the order of the page, and its CI job. */

const ROOT = process.cwd();
const SHOP = join(ROOT, 'docs/examples/shop');

let page: string;
let gateway: ServedGateway;
let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  page = await readFile('docs/tracking-plan.md', 'utf8');
  gateway = await startServedGateway();
  folder = await temporaryDirectory();
  env = { GATEWAY: gateway.url, KEY: (await gateway.createKey()).key };
});
afterAll(endProcesses);

/** A shell in the temporary folder, in which `docs` is that of the repository. */
function shell(command: string): Promise<Finished> {
  const local = command
    .replaceAll('npm run --silent cli --', `${GATEWAY} cli`)
    .replaceAll('/app/bin/gateway', GATEWAY)
    .replaceAll('docs/examples', `${ROOT}/docs/examples`);
  return run(['sh', '-ec', `cd '${folder}'; ${local}`], env);
}

const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text);

test('the commands of the page do what it says, with the plan of the shop', async () => {
  const commands = blocks('sh').flatMap((block) => block.trim().split('\n'));
  const outputs: string[] = [];
  for (const command of commands) {
    const { code, stdout, stderr } = await shell(command);
    expect([command, code, stderr]).toEqual([command, 0, '']);
    outputs.push(stdout.trimEnd().split('\n').at(-1) ?? '');
  }
  expect(outputs).toEqual([
    'applied: 31 created, 0 changed, 0 deleted',
    '',
    '',
    'no differences',
    'no differences',
    'dry run, nothing was changed: 0 created, 0 changed, 0 deleted',
    'applied: 0 created, 0 changed, 0 deleted',
  ]);
});

test('the CI job is well-formed, and each of its steps succeeds', async () => {
  const job = blocks('yaml').find((block) => block.includes('runs-on')) ?? '';
  const { jobs } = parse(job) as { jobs: { 'tracking-plan': { steps: { run?: string }[] } } };
  const steps = jobs['tracking-plan'].steps.flatMap(({ run: command }) => command ?? []);
  expect(steps).toHaveLength(4);
  for (const step of steps) expect([step, (await shell(step)).code]).toEqual([step, 0]);
});

test('a breaking change ends the check with 1, and a file that cannot be read with 2', async () => {
  const check = (file: string) => shell(`${GATEWAY} cli plan check --delete ${file}`);
  const text = await readFile(join(folder, 'tracking-plan.yaml'), 'utf8');
  await run(
    ['sh', '-ec', `cd '${folder}'; sed 's/^  cart_shared:$/  cart_given:/' tracking-plan.yaml > changed.yaml`],
    {},
  );
  expect(text).toContain('cart_shared:');
  expect(await check('changed.yaml')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('- cart_shared: event [breaking: its occurrences are refused]'),
  });
  expect(await check('missing.yaml')).toMatchObject({ code: 2, stdout: '' });
  expect(await shell(`cat tracking-plan.yaml | ${GATEWAY} cli plan check -`)).toMatchObject({ code: 0 });
});

test('the example of the file is a valid plan', () => {
  const example = blocks('yaml').find((block) => block.startsWith('version')) ?? '';
  const plan = parsePlan(example, 'example');
  expect([...plan.keys()]).toEqual(['order_completed']);
});

test('events.ts of the shop is what `plan types` prints for its plan', async () => {
  const plan = parsePlan(await readFile(join(SHOP, 'tracking-plan.yaml'), 'utf8'), 'shop');
  expect(printTypes(plan)).toBe(await readFile(join(SHOP, 'events.ts'), 'utf8'));
});

test('the shop sends its events, also those that wait when it ends', async () => {
  const shop = start([process.execPath, join(SHOP, 'shop.ts')], { ...env, PORT: '0' });
  await expect.poll(() => shop.output.stdout).toContain('http://');
  const [address = ''] = /http:\S+/.exec(shop.output.stdout) ?? [];
  const product = await fetch(`${address}/products/mug-blue`);
  expect([product.status, await product.json()]).toEqual([200, { id: 'mug-blue', name: 'Blue mug', price: 12.5 }]);
  const order = await fetch(`${address}/orders`, {
    method: 'POST',
    body: JSON.stringify({ email: 'ann@example.com', productIds: ['mug-blue', 'tea-green'] }),
  });
  expect([order.status, await order.json()]).toEqual([201, { orderId: 'A1', total: 19.4 }]);
  shop.child.kill('SIGTERM');
  expect([await shop.exited, shop.output.stderr]).toEqual([0, '']);
  const countOf = async (name: string) => {
    const query = `{ eventDefinition(name: "${name}") { occurrences { totalCount } } }`;
    const { data } = await gateway.graphql<{ eventDefinition: { occurrences: { totalCount: number } } }>(
      env['KEY'] ?? '',
      query,
    );
    return data?.eventDefinition.occurrences.totalCount;
  };
  const names = ['product_viewed', 'product_added', 'order_completed'];
  expect(await Promise.all(names.map(countOf))).toEqual([1, 2, 1]);
});
