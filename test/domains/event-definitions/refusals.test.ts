import { describe, expect, test } from 'vitest';
import {
  DEFINITIONS_PATH,
  done,
  refused,
  refusedByBoth,
  workspaceOf,
} from '../../support/fixtures/event-definitions.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway();

const BARE = { includeDefaultProperties: false };

describe('invalid input gets the same refusal on both APIs', () => {
  test('400: the message for each rule of a creation names the path and the bound', async () => {
    const { api, other } = await workspaceOf(gateway);
    const property = (given: object) => ({
      label: 'L',
      propertyDefinitions: [{ label: 'P', type: 'string', ...given }],
    });
    const cases: object[] = [
      { label: '' },
      { label: 'x'.repeat(101) },
      { label: 'a\0b' },
      { label: '!?' },
      { label: '注文' },
      { label: 'L', name: '' },
      { label: 'L', name: 'x'.repeat(51) },
      { label: 'L', name: 'Upper' },
      { label: 'L', name: '1st' },
      { label: 'L', name: '_x' },
      { label: 'L', name: 'a-b' },
      { label: 'L', name: 'a\n' },
      { label: 'L', description: 'x'.repeat(10_001) },
      { label: 'L', primaryObject: '' },
      { label: 'L', primaryObject: '9lives' },
      { label: 'L', primaryObject: 'A'.repeat(101) },
      {
        label: 'L',
        customMatchingId: { primaryObjectRule: { targetObjectPropertyName: '', eventPropertyName: 'Bad Name' } },
      },
      {
        label: 'L',
        propertyDefinitions: Array.from({ length: 51 }, (_, index) => ({ label: `P${index}`, type: 'bool' })),
      },
      property({ label: '' }),
      property({ label: 'x'.repeat(51) }),
      property({ label: '★' }),
      property({ name: 'svc_mine' }),
      property({ name: 'x'.repeat(51) }),
      property({ options: [{ label: 'A', value: 'a' }] }),
      property({ type: 'enumeration' }),
      property({ type: 'enumeration', options: null }),
      property({ type: 'enumeration', options: [] }),
      property({
        type: 'enumeration',
        options: [
          { label: 'A', value: 'a' },
          { label: 'B', value: 'a' },
        ],
      }),
      property({ type: 'enumeration', options: [{ label: '', value: '' }] }),
      {
        label: 'L',
        propertyDefinitions: [
          { label: 'A', name: 'a', type: 'bool' },
          { label: 'B', name: 'a', type: 'bool' },
        ],
      },
    ];
    const messages: string[] = [];
    for (const input of cases) {
      const first = refused(await api.create(input));
      expect(refused(await other.create(input))).toEqual(first);
      messages.push(`${first.status} ${first.message}`);
    }
    expect(messages).toMatchInlineSnapshot(`
      [
        "400 label: must not be empty",
        "400 label: must be at most 100 characters",
        "400 label: must be well-formed text without NUL characters",
        "400 label: gives no name, because it has neither letters nor digits; give a name",
        "400 label: gives no name, because it has neither letters nor digits; give a name",
        "400 name: must not be empty",
        "400 name: must be at most 50 characters",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 name: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 description: must be at most 10000 characters",
        "400 primaryObject: must be one of APPOINTMENT, COMPANY, CONTACT, COURSE, DEAL, LEAD, LISTING, ORDER, PROJECT, SERVICE, TICKET, NO_OBJECT, or a custom object name: a letter, then at most 99 letters, digits or underscores",
        "400 primaryObject: must be one of APPOINTMENT, COMPANY, CONTACT, COURSE, DEAL, LEAD, LISTING, ORDER, PROJECT, SERVICE, TICKET, NO_OBJECT, or a custom object name: a letter, then at most 99 letters, digits or underscores",
        "400 primaryObject: must be one of APPOINTMENT, COMPANY, CONTACT, COURSE, DEAL, LEAD, LISTING, ORDER, PROJECT, SERVICE, TICKET, NO_OBJECT, or a custom object name: a letter, then at most 99 letters, digits or underscores",
        "400 customMatchingId.primaryObjectRule.targetObjectPropertyName: must not be empty; customMatchingId.primaryObjectRule.eventPropertyName: must start with a letter and contain only lowercase letters, digits and underscores",
        "400 propertyDefinitions: must have at most 50 items",
        "400 propertyDefinitions.0.label: must not be empty",
        "400 propertyDefinitions.0.label: must be at most 50 characters",
        "400 propertyDefinitions.0.label: gives no name, because it has neither letters nor digits; give a name",
        "400 propertyDefinitions.0.name: must not start with svc_, which is reserved for default properties",
        "400 propertyDefinitions.0.name: must be at most 50 characters",
        "400 propertyDefinitions.0.options: is allowed only for the type enumeration, not for string",
        "400 propertyDefinitions.0.options: is required for the type enumeration, with at least one option",
        "400 propertyDefinitions.0.options: is required for the type enumeration, with at least one option",
        "400 propertyDefinitions.0.options: must have at least 1 item",
        "400 propertyDefinitions.0.options: must not contain a value twice",
        "400 propertyDefinitions.0.options.0.label: must not be empty; propertyDefinitions.0.options.0.value: must not be empty",
        "400 propertyDefinitions.1.name: a is already the name of another property; names must be unique",
      ]
    `);
    expect(done(await api.search({})).total).toBe(0);
  });

  test('400: all faults are reported together, including those of rules about several fields', async () => {
    const input = {
      label: '',
      name: 'A b',
      primaryObject: 'NO_OBJECT',
      customMatchingId: { primaryObjectRule: { targetObjectPropertyName: '', eventPropertyName: 'a' } },
      propertyDefinitions: [
        { label: '', type: 'enumeration' },
        { label: 'a', name: 'svc_a', type: 'date', options: [{ label: 'x', value: 'x' }] },
        { label: '—', type: 'bool' },
        { label: 'b', name: 'svc_a', type: 'bool' },
      ],
    };
    expect(await refusedByBoth(gateway, (api) => api.create(input))).toMatchInlineSnapshot(`
      {
        "faults": [
          {
            "code": "TOO_SHORT",
            "in": "label",
            "message": "must not be empty",
          },
          {
            "code": "BAD_FORMAT",
            "in": "name",
            "message": "must start with a letter and contain only lowercase letters, digits and underscores",
          },
          {
            "code": "TOO_SHORT",
            "in": "propertyDefinitions.0.label",
            "message": "must not be empty",
          },
          {
            "code": "REQUIRED",
            "in": "propertyDefinitions.0.options",
            "message": "is required for the type enumeration, with at least one option",
          },
          {
            "code": "NOT_ALLOWED",
            "in": "propertyDefinitions.1.name",
            "message": "must not start with svc_, which is reserved for default properties",
          },
          {
            "code": "CONFLICTING",
            "in": "propertyDefinitions.1.options",
            "message": "is allowed only for the type enumeration, not for date",
          },
          {
            "code": "NOT_ALLOWED",
            "in": "propertyDefinitions.2.label",
            "message": "gives no name, because it has neither letters nor digits; give a name",
          },
          {
            "code": "NOT_ALLOWED",
            "in": "propertyDefinitions.3.name",
            "message": "must not start with svc_, which is reserved for default properties",
          },
          {
            "code": "DUPLICATE",
            "in": "propertyDefinitions.3.name",
            "message": "svc_a is already the name of another property; names must be unique",
          },
          {
            "code": "TOO_SHORT",
            "in": "customMatchingId.primaryObjectRule.targetObjectPropertyName",
            "message": "must not be empty",
          },
          {
            "code": "CONFLICTING",
            "in": "customMatchingId",
            "message": "must not be given with the primaryObject NO_OBJECT, which has no records to match",
          },
        ],
        "message": "label: must not be empty; name: must start with a letter and contain only lowercase letters, digits and underscores; propertyDefinitions.0.label: must not be empty; propertyDefinitions.0.options: is required for the type enumeration, with at least one option; propertyDefinitions.1.name: must not start with svc_, which is reserved for default properties; propertyDefinitions.1.options: is allowed only for the type enumeration, not for date; propertyDefinitions.2.label: gives no name, because it has neither letters nor digits; give a name; propertyDefinitions.3.name: must not start with svc_, which is reserved for default properties; propertyDefinitions.3.name: svc_a is already the name of another property; names must be unique; customMatchingId.primaryObjectRule.targetObjectPropertyName: must not be empty; customMatchingId: must not be given with the primaryObject NO_OBJECT, which has no records to match",
        "status": 400,
      }
    `);
  });

  test('400 over REST: values of a wrong type and unknown properties at any depth', async () => {
    const { key } = await gateway.createKey();
    const messageOf = async (body: unknown, method = 'POST', path = DEFINITIONS_PATH) => {
      const answer = await gateway.rest<{ message: string; errors: unknown[] }>(method, path, { key, body });
      return `${answer.status} ${answer.body.message}`;
    };
    expect([
      await messageOf({}),
      await messageOf({
        label: 5,
        name: 7,
        description: false,
        includeDefaultProperties: 'true',
        propertyDefinitions: {},
        customMatchingId: [],
      }),
      await messageOf({ label: null }),
      await messageOf({ label: 'L', propertyDefinitions: [null, 5, {}, { label: 'P', type: 'text' }] }),
      await messageOf({ label: 'L', customMatchingId: {} }),
      await messageOf({ label: 'L', customMatchingId: { primaryObjectRule: { extra: 1 } } }),
      await messageOf({
        label: 'L',
        extra: 1,
        propertyDefinitions: [
          { label: 'P', type: 'enumeration', extra: 2, options: [{ label: 'A', value: 'a', displayOrder: 1 }] },
        ],
      }),
      // Rules about several fields are reported together with faults of single fields.
      await messageOf({
        label: '…',
        extra: 1,
        primaryObject: 'NO_OBJECT',
        customMatchingId: 5,
        propertyDefinitions: [{ type: 'enumeration' }, { extra: 1, label: 5, type: 'bool', options: [] }],
      }),
      await messageOf({ label: 'L', propertyDefinitions: [{ label: 'A', name: 'a' }, { label: 'A', name: 'a' }, 5] }),
      await messageOf('{"label":"L","__proto__":{"name":"x"}}'),
      await messageOf('{"label":"L","constructor":1}'),
      await messageOf([]),
      await messageOf('null'),
      await messageOf('{"label":'),
      await messageOf({ label: 'L' }, 'PATCH', `${DEFINITIONS_PATH}/a?label=x`),
    ]).toMatchInlineSnapshot(`
      [
        "400 label: is required",
        "400 label: must be a string; name: must be a string; description: must be a string; propertyDefinitions: must be an array; customMatchingId: must be an object; includeDefaultProperties: must be a boolean",
        "400 label: must be a string",
        "400 propertyDefinitions.0: must be an object; propertyDefinitions.1: must be an object; propertyDefinitions.2.label: is required; propertyDefinitions.2.type: is required; propertyDefinitions.3.type: must be one of "bool", "date", "datetime", "enumeration", "number", "string"",
        "400 customMatchingId.primaryObjectRule: is required",
        "400 customMatchingId.primaryObjectRule.targetObjectPropertyName: is required; customMatchingId.primaryObjectRule.eventPropertyName: is required; customMatchingId.primaryObjectRule.extra: is not a known property",
        "400 propertyDefinitions.0.extra: is not a known property; extra: is not a known property",
        "400 propertyDefinitions.0.label: is required; propertyDefinitions.0.options: is required for the type enumeration, with at least one option; propertyDefinitions.1.label: must be a string; propertyDefinitions.1.extra: is not a known property; customMatchingId: must be an object; extra: is not a known property; customMatchingId: must not be given with the primaryObject NO_OBJECT, which has no records to match; label: gives no name, because it has neither letters nor digits; give a name",
        "400 propertyDefinitions.0.type: is required; propertyDefinitions.1.type: is required; propertyDefinitions.2: must be an object; propertyDefinitions.1.name: a is already the name of another property; names must be unique",
        "400 __proto__: is not a known property",
        "400 constructor: is not a known property",
        "400 the body must be a JSON object",
        "400 the body must be a JSON object",
        "400 the body is not well-formed JSON",
        "404 event definition not found",
      ]
    `);
  });

  test('400: an update of a field that cannot change, and null for a field that cannot be cleared', async () => {
    const { api, other, key } = await workspaceOf(gateway);
    done(await api.create({ label: 'A', ...BARE }));
    const cases = [
      { label: null },
      { label: '' },
      { label: 'x'.repeat(101) },
      { description: 'x'.repeat(10_001) },
      { label: null, description: 'a\0' },
    ];
    const messages = [];
    for (const changes of cases) {
      const first = refused(await api.update('a', changes));
      expect(refused(await other.update('a', changes))).toEqual(first);
      messages.push(`${first.status} ${first.message}`);
    }
    const immutable = {
      name: 'b',
      primaryObject: 'DEAL',
      includeDefaultProperties: true,
      customMatchingId: null,
      propertyDefinitions: [],
    };
    const answer = await gateway.rest<{ message: string }>('PATCH', `${DEFINITIONS_PATH}/a`, { key, body: immutable });
    messages.push(`${answer.status} ${answer.body.message}`);
    expect(messages).toMatchInlineSnapshot(`
      [
        "400 label: must be a string",
        "400 label: must not be empty",
        "400 label: must be at most 100 characters",
        "400 description: must be at most 10000 characters",
        "400 label: must be a string; description: must be well-formed text without NUL characters",
        "400 name: is not a known property; primaryObject: is not a known property; includeDefaultProperties: is not a known property; customMatchingId: is not a known property; propertyDefinitions: is not a known property",
      ]
    `);
    // The path names the definition, so the body cannot name one.
    const doubled = await gateway.rest<{ message: string }>('PATCH', `${DEFINITIONS_PATH}/a`, {
      key,
      body: { eventName: 'b', label: 'B' },
    });
    expect([doubled.status, doubled.body.message]).toEqual([400, 'eventName: is not a known property']);
    expect(done(await api.read('a')).label).toBe('A');
  });
});
