import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DefinitionState, withPlaceholders } from '../support/fixtures/event-definitions.ts';
import { explore, seed } from '../support/exploration.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { type Outcome, type CommandTarget, send, stateOf } from '../support/oracles/parity-apis.ts';
import { type Actor, type Command, EVENTS_OF_SESSION, Model } from '../support/oracles/parity-model.ts';
import { full, proof } from '../support/proof.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

const SEQUENCES = full ? 200 : 6;
const COMMANDS = 40;

let gateways: { rest: TestGateway; graphql: TestGateway };
let sequences = 0;
let commands = 0;
const refusals = new Map<number, number>();

beforeAll(async () => {
  gateways = { rest: await startTestGateway(), graphql: await startTestGateway() };
});
afterAll(async () => {
  await gateways.rest.close();
  await gateways.graphql.close();
});

const actor = fc.constantFrom<Actor>('admin', 'admin', 'member', 'foreign');
const word = fc.constantFrom('Order', 'Order', 'Order', 'Order placed', 'order', 'Ünit', 'Unit', '2nd', 'order', '!!!');
const name = fc.constantFrom('order', 'order', 'order_2', 'order_3', 'unit', 'e_2nd', 'absent');
const propertyName = fc.constantFrom('amount', 'order', 'order_2', 'p_2nd', 'kind');
const options = fc.constantFrom(
  [{ label: 'A', value: 'a' }],
  [
    { label: 'A', value: 'a' },
    { label: 'B', value: 'b' },
  ],
  [
    { label: 'A', value: 'a' },
    { label: 'A again', value: 'a' },
  ],
);
const maybe = { requiredKeys: [] as never[] };
const property = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      { label: word, name: propertyName, type: fc.constantFrom('string', 'number', 'bool') },
      { requiredKeys: ['label', 'type'] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record(
      { label: word, name: propertyName, type: fc.constant('enumeration'), options },
      { requiredKeys: ['label', 'type', 'options'] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      { label: word, name: fc.constant('svc_mine'), type: fc.constantFrom('string', 'enumeration'), options },
      { requiredKeys: ['label', 'type'] },
    ),
  },
);
const matchingBy = (eventPropertyName: string) => ({
  primaryObjectRule: { targetObjectPropertyName: 'number', eventPropertyName },
});
const definition = fc.record(
  {
    label: word,
    name,
    description: fc.constantFrom('', 'Placed by somebody'),
    primaryObject: fc.constantFrom('CONTACT', 'ORDER', 'NO_OBJECT', 'machine'),
    includeDefaultProperties: fc.boolean(),
    propertyDefinitions: fc.array(property, { maxLength: 3 }),
    customMatchingId: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: propertyName.map(matchingBy) },
    ),
  },
  { requiredKeys: ['label'] },
);
const index = fc.nat({ max: 2 });
const label = fc.constantFrom('New', 'Newer');
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ run: fc.constant('create'), input: definition }) },
  {
    weight: 2,
    arbitrary: fc.record({
      run: fc.constant('update'),
      name,
      changes: fc.record({ label, description: fc.constantFrom(null, 'Other') }, maybe),
    }),
  },
  { weight: 1, arbitrary: fc.record({ run: fc.constant('delete'), name }) },
  { weight: 5, arbitrary: fc.record({ run: fc.constant('addProperty'), name, input: property }) },
  {
    weight: 3,
    arbitrary: fc.record({
      run: fc.constant('updateProperty'),
      name,
      property: propertyName,
      changes: fc.record({ label, options }, maybe),
    }),
  },
  { weight: 2, arbitrary: fc.record({ run: fc.constant('deleteProperty'), name, property: propertyName }) },
  {
    weight: 2,
    arbitrary: fc.record({
      run: fc.constant('createOrganization'),
      input: fc.record(
        { name: fc.constantFrom('Works', 'Wörks'), slug: fc.constantFrom('works', 'works-2') },
        { requiredKeys: ['name'] },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      run: fc.constant('createConnection'),
      actor,
      input: fc.record(
        {
          name: fc.constantFrom('Files', 'Mail'),
          visibility: fc.constantFrom('shared', 'personal'),
          command: fc.constantFrom('mcp', 'mcp', ''),
          args: fc.array(fc.string(), { maxLength: 2 }),
          env: fc.constantFrom({}, { TOKEN: 't' }),
        },
        { requiredKeys: ['name', 'visibility', 'command'] },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ run: fc.constant('authorizeConnection'), actor, connection: index }) },
  {
    weight: 5,
    arbitrary: fc.record({
      run: fc.constant('updateSession'),
      actor,
      session: index,
      changes: fc.record(
        {
          title: fc.constantFrom('Renamed', '', null),
          agent: fc.constantFrom('agent', '', null),
          level: fc.constantFrom(0, 100, 101, -1),
          mode: fc.constantFrom('normal', 'planning'),
          visibility: fc.constantFrom('public', 'private'),
          mcpServers: fc.constantFrom([], ['Files'], ['Mail', 'Files']),
        },
        maybe,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      run: fc.constant('listEvents'),
      actor,
      session: index,
      limit: fc.integer({ min: 1, max: 9 }),
      cursor: fc.nat({ max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ run: fc.constant('revokeKey'), actor, key: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ run: fc.constant('deleteUser'), actor, user: actor }) },
) as fc.Arbitrary<Command>;

/** Creates the same initial state for each API: two organizations, three callers, three sessions with events. */
async function createTarget(api: CommandTarget['api'], gateway: TestGateway): Promise<CommandTarget> {
  const organization = `inside-${sequences}`;
  const admin = await gateway.createKey({ organization });
  const member = await gateway.createKey({ organization });
  const foreign = await gateway.createKey({ organization: `outside-${sequences}` });
  const spare = [
    await gateway.createKey({ organization, email: admin.email }),
    await gateway.createKey({ organization, email: member.email }),
    await gateway.createKey({ organization: foreign.organization, email: foreign.email }),
  ];
  const sessionIds = [
    await createSession(gateway, admin.key, { title: 'Public', visibility: 'PUBLIC' }),
    await createSession(gateway, admin.key, { title: 'Private' }),
    await createSession(gateway, member.key, { title: 'Private too' }),
  ];
  await append(gateway, admin.key, sessionIds[0] ?? '', eventsOf(EVENTS_OF_SESSION));
  const keyIds = spare.map(({ keyId }) => keyId);
  return { api, gateway, callers: { admin, member, foreign }, keyIds, sessionIds, connectionIds: [] };
}

/** Makes slugs unique for this sequence, because all sequences share the organizations of a database. */
function ofSequence(given: Command): Command {
  if (given.run !== 'createOrganization') return given;
  const { name: title, slug } = given.input;
  return {
    ...given,
    input: { name: `${title} ${sequences}`, ...(slug !== undefined && { slug: `${slug}-${sequences}` }) },
  };
}

const verdict = (outcome: Outcome) => ('value' in outcome ? 'ok' : outcome.status);

function definitionsOf(model: Model): object[] {
  return [...model.definitions.values()].map((one) => ({ ...one }));
}

/** The part of a definition that the model predicts. */
function known({
  name: own,
  label: title,
  description,
  primaryObject,
  customMatchingId,
  includeDefaultProperties,
  properties,
}: DefinitionState): object {
  const custom = properties.filter(({ isDefault }) => !isDefault);
  return {
    name: own,
    label: title,
    description,
    primaryObject,
    customMatchingId,
    includeDefaultProperties,
    properties: custom.map((one) => ({ name: one.name, label: one.label, type: one.type, options: one.options })),
  };
}

describe(`Parity of the apis (SEED=${seed})`, () => {
  test('the same commands get the same answers from both APIs and lead to the same state, as the specification defines', async () => {
    await explore(SEQUENCES, fc.array(command, { minLength: 1, maxLength: COMMANDS, size: 'max' }), async (given) => {
      sequences += 1;
      const model = new Model();
      const rest = await createTarget('REST', gateways.rest);
      const graphql = await createTarget('GraphQL', gateways.graphql);
      for (const one of given.map(ofSequence)) {
        const { expected, apply } = model.expect(one);
        const answers = [await send(rest, one), await send(graphql, one)] as const;
        expect(withPlaceholders(answers[1]), `GraphQL answers as REST does: ${JSON.stringify(one)}`).toEqual(
          withPlaceholders(answers[0]),
        );
        expect(expected, `as documented: ${JSON.stringify([one, answers[0]])}`).toContain(verdict(answers[0]));
        if ('value' in answers[0]) apply();
        else refusals.set(answers[0].status, (refusals.get(answers[0].status) ?? 0) + 1);
        commands += 1;
      }
      const names = [...model.definitions.keys(), ...model.deletedNames];
      const states = [
        await stateOf(rest, 'REST', names),
        await stateOf(rest, 'GraphQL', names),
        await stateOf(graphql, 'REST', names),
        await stateOf(graphql, 'GraphQL', names),
      ].map((state) => withPlaceholders(state) as { definitions: (DefinitionState | number)[]; sessions: object[] });
      expect(states.slice(1)).toEqual([states[0], states[0], states[0]]);
      const [state] = states;
      expect(state?.definitions.map((one) => (typeof one === 'number' ? one : known(one)))).toEqual([
        ...definitionsOf(model),
        ...[...model.deletedNames].map(() => 404),
      ]);
      expect(state?.sessions).toEqual(model.sessions);
    });
  });

  test('every kind of refusal occurred', () => {
    expect(new Set(refusals.keys())).toEqual(new Set([400, 403, 404, 409]));
    proof('Parity of the APIs', {
      figures: {
        sequences,
        'commands, each by both APIs': commands,
        refusals: [...refusals.values()].reduce((sum, count) => sum + count, 0),
        'answers or states that differ': 0,
        seed,
      },
    });
  });
});
