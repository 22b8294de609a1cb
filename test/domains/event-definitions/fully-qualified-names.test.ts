import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const DEFINITIONS_PATH = '/events/2026-03/event-definitions';
const gateway = useTestGateway();

test('a repeated deletion by name does not delete another definition whose fully qualified name equals that name', async () => {
  const { key } = await gateway.createKey();
  const create = (name: string) =>
    gateway.rest<{ fullyQualifiedName: string }>('POST', DEFINITIONS_PATH, { key, body: { label: name, name } });
  const status = async (method: string, name: string) =>
    (await gateway.rest(method, `${DEFINITIONS_PATH}/${name}`, { key })).status;
  const { fullyQualifiedName } = (await create('victim')).body;
  expect(await status('GET', fullyQualifiedName)).toBe(200);
  expect((await create(fullyQualifiedName)).status).toBe(201);
  expect(await status('DELETE', fullyQualifiedName)).toBe(204);
  expect(await status('DELETE', fullyQualifiedName)).toBe(404);
  expect(await status('GET', fullyQualifiedName)).toBe(404);
  expect(await status('GET', 'victim')).toBe(200);
  const sent = await gateway.rest('POST', '/events/2026-03/send', {
    key,
    body: { eventName: fullyQualifiedName, email: 'ann@example.com', properties: {} },
  });
  expect(sent.status).toBe(404);
});
