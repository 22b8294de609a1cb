import { expect, test } from 'vitest';
import { z } from 'zod';
import { type InputDifferences, derivedFields } from '../../../src/core/graphql/derived-inputs.ts';
import { enumOf } from '../../../src/core/graphql/enums.ts';
import { httpUri, optional, text, withDefault } from '../../../src/core/input/validation.ts';
import { momentInput } from '../../../src/core/input/moments.ts';
import { SessionModeEnum } from '../../../src/domains/sessions/graphql/enums.ts';
import { diffSummary } from '../../../src/domains/sessions/input.ts';
import { MODES } from '../../../src/domains/sessions/vocabulary.ts';
// Defines the enumerations and nested inputs that the derivation finds.
import '../../../src/gateway/schema.ts';

/** The derived fields as in SDL, each with its description. */
function fieldsOf(schema: z.ZodObject, differences: InputDifferences = {}, given: readonly string[] = []): string[] {
  return derivedFields('Probe', schema, differences, given).map(([name, field]) => {
    const { type, required, defaultValue, description } = field;
    const [item] = [type].flat();
    const itemName = typeof item === 'object' && 'name' in item ? item.name : String(item);
    const shown = Array.isArray(type) ? `[${itemName}!]` : itemName;
    const value = defaultValue === undefined ? '' : ` = ${JSON.stringify(defaultValue)}`;
    return `${name}: ${shown}${required ? '!' : ''}${value} | ${description}`;
  });
}

test('names, types, nullability, defaults, descriptions and bounds follow from the schema', () => {
  const schema = z.strictObject({
    text: text({ min: 1, max: 1500 }).describe('Text.'),
    code: text({ min: 3, max: 3 }).optional().describe('Code.'),
    open: z.string().min(1).nullable().describe('Open.'),
    cleared: text({ max: 10 }).describe('Cleared.').nullable().optional(),
    created: optional(text({ max: 1 })).describe('Created.'),
    kind: withDefault(text({ max: 10 }), 'agent').describe('Kind.'),
    flag: withDefault(z.boolean(), true).describe('Flag.'),
    size: z.int().min(0).max(100).default(5).describe('Size.'),
    count: z.int32().min(1).describe('Count.'),
    ratio: z.number().describe('Ratio.'),
    id: z.uuid().toLowerCase().describe('Id.'),
    url: httpUri({ max: 100 }).describe('Address.'),
    email: z.email().max(254).describe('E-mail.'),
    day: z.iso.date().nullish().describe('Day.'),
    at: z.iso
      .datetime({ offset: true })
      .transform((value) => new Date(value))
      .describe('At.'),
    since: momentInput().nullish().describe('Since.'),
    mode: withDefault(z.enum(MODES), 'normal').describe('Mode.'),
    modes: z.array(z.enum(MODES)).max(100).nullish().describe('Modes.'),
    names: z
      .array(text({ min: 1, max: 9 }))
      .min(1)
      .describe('Names.'),
    none: withDefault(z.array(z.string()).max(2), []).describe('None.'),
    nested: optional(diffSummary).describe('A nested one.'),
    list: z.array(diffSummary).max(1).describe('Nested ones.'),
  });
  expect(fieldsOf(schema).join('\n')).toMatchInlineSnapshot(`
    "text: String! | Text. 1 to 1,500 characters.
    code: String | Code. Exactly 3 characters. Must not be null.
    open: String | Open. At least 1 character.
    cleared: String | Cleared. At most 10 characters.
    created: String | Created. At most 1 character.
    kind: String = "agent" | Kind. At most 10 characters.
    flag: Boolean = true | Flag.
    size: Int = 5 | Size. 0 to 100. Must not be null.
    count: Int! | Count. At least 1.
    ratio: Float! | Ratio.
    id: UUID! | Id.
    url: URL! | Address. 1 to 100 characters.
    email: String! | E-mail. At most 254 characters.
    day: Date | Day.
    at: DateTime! | At.
    since: DateTime | Since.
    mode: SessionMode = "normal" | Mode.
    modes: [SessionMode!] | Modes. At most 100 items.
    names: [String!]! | Names. At least 1 item, each of 1 to 9 characters.
    none: [String!] | None. At most 2 items.
    nested: DiffSummaryInput | A nested one.
    list: [DiffSummaryInput!]! | Nested ones. At most 1 item."
  `);
});

test('ids, names and types differ by the name of the field, and fields that are given by hand are left out', () => {
  const schema = z.strictObject({
    sessionId: z.uuid().describe('Id of the session.'),
    userIds: z.array(z.uuid()).max(100).describe('Sessions of these users.'),
    servers: z.array(text({ max: 10 })).describe('Servers by id or name.'),
    connectionId: z.uuid().describe('Id of the connection.'),
    content: z.unknown().describe('Any content.'),
    headers: z.record(z.string(), z.string()).describe('Headers.'),
    variables: z.record(z.string(), z.string()).optional().describe('Variables by name.'),
  });
  const differences = {
    ids: { sessionId: 'Session', userIds: 'User', servers: 'McpServer', connectionId: 'McpServer' },
    names: { connectionId: 'serverId' },
    types: { content: 'JSON' },
    lists: { variables: 'String' },
  } as const;
  expect(fieldsOf(schema, differences, ['headers']).join('\n')).toMatchInlineSnapshot(`
    "sessionId: ID! | \`id\` or \`databaseId\` of the session.
    userIds: [ID!]! | Sessions of these users. Each is an \`id\` or \`databaseId\`. At most 100 items.
    servers: [String!]! | Servers by id or name. Each of at most 10 characters.
    serverId: ID! | \`id\` or \`databaseId\` of the connection.
    content: JSON! | Any content.
    variables: [String!] | Variables by name. Must not be null."
  `);
});

const described = <Schema extends z.ZodType>(schema: Schema) => schema.describe('A field.');

test.each([
  ['a field without description', z.string(), 'Probe.field has no description; give it one in its schema'],
  ['an unknown enumeration', described(z.enum(['a', 'b'])), 'enumOf defines no type with its values'],
  ['an unknown object', described(z.strictObject({})), 'inputType defines no type with its schema'],
  ['a large integer', described(z.int()), 'it can be larger than Int'],
  ['an unknown format', described(z.ipv4()), 'no scalar has the format ipv4'],
  ['any value', described(z.unknown()), 'no type for {"description":"A field."}'],
  ['a map', described(z.record(z.string(), z.string())), 'inputType defines no type with its schema'],
  [
    'a choice of types',
    described(z.union([z.string(), z.number()])),
    'no type for {"description":"A field.","type":["string","number"]',
  ],
  ['a constant', described(z.literal(1)), 'it has only certain values'],
  ['an enumeration of numbers', described(z.literal([1, 2])), 'it has only certain values'],
  ['a constant text', described(z.literal('a')), 'it has only certain values'],
  ['a list of lists', described(z.array(z.array(z.string()))), 'no type for {'],
  ['a list with nulls', described(z.array(z.string().nullable())), 'no type for {'],
])('%s is an error when the schema is built', (_, field, message) => {
  expect(() => fieldsOf(z.strictObject({ field }))).toThrow(message);
});

test.each(['ids', 'names', 'types', 'lists'])('a name in %s that the schema does not have is an error', (option) => {
  const schema = z.strictObject({ field: described(z.string()) });
  expect(() => fieldsOf(schema, { [option]: { feild: 'String' } })).toThrow('Probe: the schema has no field feild');
});

test('two enumerations with the same values are an error', () => {
  const second = () => enumOf('Second', 'The same modes.', MODES, (mode) => `The mode ${mode}.`);
  expect(second).toThrow(`Second and ${SessionModeEnum.name} have the same values; use one of them`);
});
