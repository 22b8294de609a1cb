import { expect, test } from 'vitest';
import {
  A_AND_B,
  type Api,
  DEFINITIONS_PATH,
  done,
  graphqlApi,
  refused,
  restApi,
  workspaceWithEvent,
} from '../../support/fixtures/event-definitions.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();

const workspace = (which: Api['api'], event?: object) => workspaceWithEvent(gateway, which, event);

test('400: invalid properties are refused with the same messages on both APIs', async () => {
  const { api, other, key } = await workspace('REST', {
    propertyDefinitions: [
      { label: 'Text', type: 'string' },
      { label: 'Kind', type: 'enumeration', options: A_AND_B },
    ],
  });
  const attempts: readonly ((through: Api) => ReturnType<Api['addProperty']>)[] = [
    (through) => through.addProperty('event', { label: '', name: 'A', type: 'bool', options: A_AND_B }),
    (through) => through.addProperty('event', { label: '…', type: 'enumeration' }),
    (through) => through.updateProperty('event', 'text', { options: A_AND_B }),
    (through) => through.updateProperty('event', 'text', { label: null }),
    (through) => through.updateProperty('event', 'kind', { options: null, label: 'x'.repeat(51) }),
    (through) => through.updateProperty('event', 'kind', { options: [] }),
    (through) => through.updateProperty('event', 'kind', { options: [...A_AND_B, { label: 'again', value: 'a' }] }),
  ];
  const messages = [];
  for (const attempt of attempts) {
    const first = refused(await attempt(api));
    expect(refused(await attempt(other))).toEqual(first);
    messages.push(`${first.status} ${first.message}`);
  }
  const patch = async (path: string, body: object) => {
    const answer = await gateway.rest<{ message: string }>('PATCH', `${DEFINITIONS_PATH}/event/property${path}`, {
      key,
      body,
    });
    messages.push(`${answer.status} ${answer.body.message}`);
  };
  await patch('', { label: 'X' });
  await patch('', { name: 'text', type: 'number' });
  await patch('/text', { name: 'other', label: 'X' });
  await patch('/kind', { options: [{ label: 1, value: null, hidden: 'yes', displayOrder: 0.5, colour: 1 }] });
  await patch('/text', { options: A_AND_B });
  expect(messages).toMatchInlineSnapshot(`
    [
      "400 label: must not be empty; name: must start with a letter and contain only lowercase letters, digits and underscores; options: is allowed only for the type enumeration, not for bool",
      "400 options: is required for the type enumeration, with at least one option; label: gives no name, because it has neither letters nor digits; give a name",
      "400 options: is allowed only for the type enumeration; text is of type string",
      "400 label: must be a string",
      "400 label: must be at most 50 characters; options: must be an array",
      "400 options: must have at least 1 item",
      "400 options: must not contain a value twice",
      "400 name: is required",
      "400 type: is not a known property",
      "400 name: must be the same as in the path, or absent",
      "400 options.0.label: must be a string; options.0.value: must be a string; options.0.displayOrder: must be an integer; options.0.hidden: must be a boolean; options.0.colour: is not a known property",
      "400 options: is allowed only for the type enumeration; text is of type string",
    ]
  `);
  expect(done(await api.read('event')).properties.map(({ label }) => label)).toEqual(['Text', 'Kind']);
});

test('GraphQL refuses values of a wrong type before the mutation runs', async () => {
  const { key } = await workspace('REST');
  const inputs = [
    { eventName: 'event', label: 'X', type: 'bool' },
    { eventName: 'event', label: 'X', type: 'BOOL', extra: 1 },
    { eventName: 'event', label: 5, type: 'BOOL' },
    { eventName: 'event', label: null, type: 'BOOL' },
    { eventName: 'event', label: 'X', type: 'ENUMERATION', options: [{ label: 'A' }] },
  ];
  const query = 'mutation Add($input: AddEventPropertyInput!) { addEventProperty(input: $input) { __typename } }';
  for (const input of inputs) {
    const { data, errors } = await gateway.graphql(key, query, { input });
    expect([data, errors?.length]).toEqual([undefined, 1]);
  }
  expect(done(await restApi(gateway, key).read('event')).properties).toEqual([]);
  expect(done(await graphqlApi(gateway, key).read('event')).properties).toEqual([]);
});
