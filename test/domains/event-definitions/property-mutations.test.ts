import { describe, expect, test } from 'vitest';
import {
  A_AND_B,
  type Api,
  done,
  manyProperties,
  workspaceWithEvent,
} from '../../support/fixtures/event-definitions.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();

const workspace = (which: Api['api'], event?: object) => workspaceWithEvent(gateway, which, event);

describe('replaceEventPropertyType', () => {
  const MUTATION = `mutation Replace($input: ReplaceEventPropertyTypeInput!) { replaceEventPropertyType(input: $input) {
    __typename
    ... on ReplaceEventPropertyTypePayload { eventDefinition { name } property { name label type description options { label value } displayOrder isDefault } }
    ... on Error { message code path }
  } }`;
  const replace = async (key: string, input: object) => {
    const { data, errors } = await gateway.graphql<{ replaceEventPropertyType: object }>(key, MUTATION, {
      input: { eventName: 'event', ...input },
    });
    expect(errors).toBeUndefined();
    return data?.replaceEventPropertyType;
  };

  test('changes the type of a property, which keeps its position', async () => {
    const { key, other } = await workspace('GraphQL', {
      propertyDefinitions: [
        { label: 'First', type: 'string', description: 'Text' },
        { label: 'Second', type: 'bool' },
      ],
    });
    expect(await replace(key, { name: 'first', type: 'ENUMERATION', options: A_AND_B, label: 'One' })).toEqual({
      __typename: 'ReplaceEventPropertyTypePayload',
      eventDefinition: { name: 'event' },
      property: {
        name: 'first',
        label: 'One',
        type: 'ENUMERATION',
        description: 'Text',
        options: A_AND_B,
        displayOrder: 32,
        isDefault: false,
      },
    });
    await replace(key, { name: 'first', type: 'NUMBER', description: null });
    expect(
      done(await other.read('event')).properties.map(({ name, type, label, description, options }) => ({
        name,
        type,
        label,
        description,
        options,
      })),
    ).toEqual([
      { name: 'first', type: 'number', label: 'One', description: null, options: [] },
      { name: 'second', type: 'bool', label: 'Second', description: null, options: [] },
    ]);
    done(await other.deleteProperty('event', 'first'));
    expect(done(await other.addProperty('event', { name: 'first', label: 'One', type: 'date' })).type).toBe('date');
  });

  test('works on a definition with 50 properties, and refuses impossible changes', async () => {
    const { key } = await workspace('GraphQL', {
      includeDefaultProperties: true,
      propertyDefinitions: [{ label: 'Key', type: 'string' }, ...manyProperties(49)],
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'key', eventPropertyName: 'key' } },
    });
    expect(await replace(key, { name: 'p3', type: 'DATE' })).toMatchObject({ property: { name: 'p3', type: 'DATE' } });
    expect(await replace(key, { name: 'key', type: 'NUMBER' })).toMatchObject({
      property: { name: 'key', type: 'NUMBER' },
    });
    expect([
      await replace(key, { name: 'key', type: 'BOOL' }),
      await replace(key, { name: 'svc_city', type: 'BOOL' }),
      await replace(key, { name: 'absent', type: 'BOOL' }),
      await replace(key, { eventName: 'absent', name: 'p3', type: 'BOOL' }),
      await replace(key, { name: 'p3', type: 'ENUMERATION' }),
      await replace(key, { name: 'p3', type: 'STRING', options: A_AND_B, label: '' }),
    ]).toMatchInlineSnapshot(`
      [
        {
          "__typename": "ConflictError",
          "code": "CONFLICT",
          "message": "property key is used by the custom matching of this event definition, which needs the type STRING or NUMBER",
          "path": null,
        },
        {
          "__typename": "ValidationError",
          "code": "INVALID_INPUT",
          "message": "name: svc_city is a default property, which cannot be replaced",
          "path": [
            "name",
          ],
        },
        {
          "__typename": "NotFoundError",
          "code": "NOT_FOUND",
          "message": "event property not found",
          "path": null,
        },
        {
          "__typename": "NotFoundError",
          "code": "NOT_FOUND",
          "message": "event definition not found",
          "path": null,
        },
        {
          "__typename": "ValidationError",
          "code": "INVALID_INPUT",
          "message": "options: is required for the type ENUMERATION, with at least one option",
          "path": [
            "options",
          ],
        },
        {
          "__typename": "ValidationError",
          "code": "INVALID_INPUT",
          "message": "label: must not be empty; options: is allowed only for the type ENUMERATION, not for STRING",
          "path": [
            "label",
          ],
        },
      ]
    `);
  });
});

test('the payload of a property mutation contains the changed definition', async () => {
  const { key } = await workspace('REST');
  const run = async (mutation: string) => (await gateway.graphql(key, `mutation { ${mutation} }`)).data;
  const definitionSelection = '{ eventDefinition { properties { name label } } }';
  const added = await run(
    `addEventProperty(input: { eventName: "event", label: "One", type: BOOL }) { ... on AddEventPropertyPayload ${definitionSelection} }`,
  );
  const listed = await gateway.graphql<{ eventDefinition: { properties: { id: string }[] } }>(
    key,
    '{ eventDefinition(name: "event") { properties { id } } }',
  );
  expect([
    added,
    await run(
      `updateEventProperty(input: { eventName: "event", name: "one", label: "Uno" }) { ... on UpdateEventPropertyPayload ${definitionSelection} }`,
    ),
    await run(
      `deleteEventProperty(input: { eventName: "event", name: "one" }) { ... on DeleteEventPropertyPayload { deletedId deletedName eventDefinition { properties { name } } } }`,
    ),
  ]).toEqual([
    { addEventProperty: { eventDefinition: { properties: [{ name: 'one', label: 'One' }] } } },
    { updateEventProperty: { eventDefinition: { properties: [{ name: 'one', label: 'Uno' }] } } },
    {
      deleteEventProperty: {
        deletedId: listed.data?.eventDefinition.properties[0]?.id,
        deletedName: 'one',
        eventDefinition: { properties: [] },
      },
    },
  ]);
});

test('a property is changed, replaced and deleted by its id alone', async () => {
  const { key } = await workspace('GraphQL', { propertyDefinitions: [{ label: 'First', type: 'string' }] });
  const { data } = await gateway.graphql<{ eventDefinition: { properties: { id: string }[] } }>(
    key,
    '{ eventDefinition(name: "event") { properties(isDefault: false) { id } } }',
  );
  const propertyId = data?.eventDefinition.properties[0]?.id;
  const run = async (name: string, input: object, payload: string) => {
    const type = name.charAt(0).toUpperCase() + name.slice(1);
    const answer = await gateway.graphql<Record<string, object>>(
      key,
      `mutation($input: ${type}Input!) { ${name}(input: $input) { ... on ${type}Payload { ${payload} } ... on Error { message path } } }`,
      { input },
    );
    expect(answer.errors).toBeUndefined();
    return answer.data?.[name];
  };
  const update = (input: object) => run('updateEventProperty', input, 'property { id label }');
  expect(await update({ propertyId, label: 'One' })).toEqual({ property: { id: propertyId, label: 'One' } });
  expect(await update({ propertyId, name: 'first', label: 'Two' })).toEqual({
    message: 'propertyId: must not be combined with eventName and name',
    path: ['propertyId'],
  });
  for (const wrong of ['first', btoa('EventDefinition:first'), btoa('EventProperty:first')])
    expect(await update({ propertyId: wrong, label: 'Two' })).toEqual({
      message: 'propertyId: must be an id of the type EventProperty',
      path: ['propertyId'],
    });
  expect(await update({ label: 'Two' })).toEqual({
    message: 'eventName: is required; name: is required',
    path: ['eventName'],
  });
  expect(await run('replaceEventPropertyType', { propertyId, type: 'NUMBER' }, 'property { type label }')).toEqual({
    property: { type: 'NUMBER', label: 'One' },
  });
  expect(await run('deleteEventProperty', { propertyId }, 'deletedId')).toEqual({ deletedId: propertyId });
  expect(await update({ propertyId, label: 'Two' })).toMatchObject({ message: expect.stringContaining('not found') });
});
