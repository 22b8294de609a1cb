import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { startTestGateway } from '../support/fixtures/gateway.ts';

/** Runs the requests of docs/custom-matching.md, in the order of the page. */

const page = readFileSync('docs/custom-matching.md', 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text);

test('the requests of the page define, register, send and find what it says', async () => {
  const gateway = await startTestGateway();
  onTestFinished(() => gateway.close());
  const { key } = await gateway.createKey();
  const [define, send] = blocks('sh').map((command) => {
    const [, path = '', body = ''] = /curl "\$GATEWAY(\S+)".* -d '(.*)'/s.exec(command) ?? [];
    return () => gateway.rest('POST', path, { key, body });
  });
  const [register = '', unmatched = ''] = blocks('graphql');
  const variables = JSON.parse(blocks('json')[0] ?? '') as { input: object };
  const objects = async () => {
    const query = '{ eventDefinition(name: "machine_started") { occurrences { nodes { objectId } } } }';
    const { data } = await gateway.graphql<{ eventDefinition: object }>(key, query);
    return data?.eventDefinition;
  };
  expect((await define?.())?.status).toBe(201);
  expect((await send?.())?.status).toBe(204);
  expect(await objects()).toEqual({ occurrences: { nodes: [{ objectId: null }] } });
  expect(await gateway.graphql(key, unmatched)).toMatchObject({
    data: { eventDefinition: { occurrences: { totalCount: 1, nodes: [{ unmatchedReason: 'NOT_REGISTERED' }] } } },
  });
  expect(await gateway.graphql(key, register, variables)).toMatchObject({
    data: { registerObjectIdentifiers: { registeredCount: 1 } },
  });
  expect((await send?.())?.status).toBe(204);
  expect(await objects()).toEqual({ occurrences: { nodes: [{ objectId: 'machine-1001' }, { objectId: null }] } });
});
