import {
  type GraphQLField,
  type GraphQLInputType,
  buildSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  parse,
  visit,
} from 'graphql';
import { expect, test } from 'vitest';
import { PAYLOAD } from '../../../src/core/graphql/refusable.ts';
import { contracts } from '../../../src/gateway/print-contracts.ts';
import { schema } from '../../../src/gateway/schema.ts';

/** Conventions that every type of the schema follows, so that a client can use every list and mutation in the same way. */

const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const objects = types.filter(isObjectType);
const fields = objects.flatMap((type) =>
  Object.values(type.getFields()).map((field) => ({ coordinate: `${type.name}.${field.name}`, field })),
);
/** The search is asked for words, and its order is the relevance. */
const SEARCH = 'Organization.sessionSearch';
/** Entries of a session, and their events, have one order: that in which they were said. */
const isOfEntries = (type: string, coordinate: string) =>
  type === 'SessionEntryConnection' || /^(?:\w+Message|Thinking|ToolCall|SessionNote)\.events$/.test(coordinate);
const lists = fields.filter(({ coordinate, field }) => {
  const { name } = getNamedType(field.type);
  return name.endsWith('Connection') && coordinate !== SEARCH && !isOfEntries(name, coordinate);
});
const inputs = types.filter(isInputObjectType);

const nameOf = (type: GraphQLInputType | undefined) => type && getNamedType(type).name;
const argumentOf = (field: GraphQLField<unknown, unknown>, name: string) =>
  field.args.find((argument) => argument.name === name);

test('every list has arguments for its filter and order, named after its type; the order and the page size have defaults', () => {
  expect(lists.length).toBeGreaterThan(10);
  for (const { coordinate, field } of lists) {
    const noun = getNamedType(field.type).name.replace(/Connection$/, '');
    const found = ['filter', 'orderBy'].map((name) => nameOf(argumentOf(field, name)?.type));
    expect([coordinate, ...found]).toEqual([coordinate, `${noun}Filter`, `${noun}Order`]);
    expect([coordinate, argumentOf(field, 'orderBy')?.defaultValue]).toEqual([coordinate, expect.any(Object)]);
    expect([coordinate, argumentOf(field, 'first')?.defaultValue]).toEqual([coordinate, 50]);
  }
});

test('filter fields with several values have plural names, and each filter by time has an inclusive `From` and an exclusive `Before`', () => {
  const faults = inputs
    .filter(({ name }) => name.endsWith('Filter'))
    .flatMap((filter) => {
      const names = Object.keys(filter.getFields());
      const wrong = Object.values(filter.getFields()).filter(({ name, type }) => {
        const stem = name.replace(/(?:From|Before)$/, '');
        const isHalf =
          nameOf(type) === 'DateTime' && ![`${stem}From`, `${stem}Before`].every((end) => names.includes(end));
        return isHalf || (isListType(getNullableType(type)) && !name.endsWith('s'));
      });
      const hasTimes = names.some((name) => name.endsWith('From'));
      return [
        ...wrong.map(({ name }) => `${filter.name}.${name}`),
        ...(hasTimes ? [] : [`${filter.name} has no times`]),
      ];
    });
  expect(faults).toEqual([]);
});

test('every mutation is nullable and takes one input; its result is a union of its payload and of errors', () => {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const name = `${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}`;
    expect([String(field.type), field.args.map((argument) => `${argument.name}: ${String(argument.type)}`)]).toEqual([
      `${name}Result`,
      [`input: ${name}Input!`],
    ]);
  }
});

test('every object in a payload is nullable, so that an error below it does not remove the rest of the payload', () => {
  const payloads = objects.filter(({ extensions }) => extensions['payload'] === PAYLOAD.payload);
  expect(payloads.length).toBe(Object.keys(schema.getMutationType()?.getFields() ?? {}).length);
  const strict = payloads.flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => isObjectType(getNamedType(field.type)) && isNonNullType(field.type))
      .map((field) => `${type.name}.${field.name}`),
  );
  expect(strict).toEqual([]);
});

test('defaults of enum fields are in the schema and not only in descriptions', () => {
  // The default of this field depends on another field.
  const known = new Set(['RemoteMcpServerInput.oauthRegistration']);
  const prose = inputs.flatMap((type) =>
    Object.values(type.getFields())
      .filter(
        ({ type: of, description }) => isEnumType(getNamedType(of)) && /`[A-Z_]+` when absent/.test(description ?? ''),
      )
      .map(({ name }) => `${type.name}.${name}`),
  );
  expect(prose.filter((name) => !known.has(name))).toEqual([]);
});

test('fields for addresses have the type URL, fields for days the type Date, and fields for times the type DateTime', () => {
  const all = [
    ...fields.map(({ coordinate, field }) => ({ coordinate, name: field.name, type: getNamedType(field.type).name })),
    ...inputs.flatMap((type) =>
      Object.values(type.getFields()).map(({ name, type: of }) => ({
        coordinate: `${type.name}.${name}`,
        name,
        type: nameOf(of),
      })),
    ),
  ];
  const faults = all.filter(
    ({ name, type }) =>
      (/(?:^url|Url)$/.test(name) && type !== 'URL') ||
      (/^day$|On$/.test(name) && type !== 'Date') ||
      (/[a-z]At$/.test(name) && type !== 'DateTime'),
  );
  // The data of a session event is returned as the runner sent it.
  expect(
    faults.map(({ coordinate }) => coordinate),
    'fields named …Url have the type URL (input: httpUri), …On Date, …At DateTime; see CONTRIBUTING.md, "A field"',
  ).toEqual(['SessionEventData.snapshotCreatedAt']);
});

/** A request has one viewer. Only their server knows tools, and only the machine of the agent transcripts. */
const NO_NODES: ReadonlySet<string> = new Set(['Viewer', 'McpTool', 'TranscriptSource']);

test('a type has an id if and only if it implements Node, except the viewer and what others than the gateway name', () => {
  const node = objects.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'));
  const withId = objects.filter((type) => type.getFields()['id'] !== undefined && !NO_NODES.has(type.name));
  expect(withId.map(({ name }) => name).toSorted()).toEqual(node.map(({ name }) => name).toSorted());
  const withDatabaseId = objects.filter((type) => type.getFields()['databaseId'] !== undefined);
  expect(node.map(({ name }) => name)).toEqual(expect.arrayContaining(withDatabaseId.map(({ name }) => name)));
});

test('databaseId has one type on all nodes, so that one selection of an interface can have it', () => {
  const found = fields.filter(({ field }) => field.name === 'databaseId').map(({ field }) => String(field.type));
  expect(found.length).toBeGreaterThan(20);
  expect(new Set(found)).toEqual(new Set(['DatabaseId!']));
});

const printed = contracts['schema.graphql']();
/** Directives that every tool knows. */
const WIDELY_KNOWN = ['deprecated', 'specifiedBy'];

test('the published schema is valid, and defines each directive that it applies', () => {
  expect(() => buildSchema(printed)).not.toThrow();
  const applied = new Set<string>();
  const defined = new Set<string>(WIDELY_KNOWN);
  visit(parse(printed), {
    Directive: ({ name }) => void applied.add(name.value),
    DirectiveDefinition: ({ name }) => void defined.add(name.value),
  });
  expect(applied).toEqual(
    new Set([...WIDELY_KNOWN, 'oneOf', 'semanticNonNull', 'requiresScopes', 'cost', 'listSize', 'key', 'lookup']),
  );
  expect([...applied].filter((name) => !defined.has(name))).toEqual([]);
});

test('a nullable field is @semanticNonNull, or its description says when it is null without an error', () => {
  const marked = new Set<string>();
  visit(parse(printed), {
    ObjectTypeDefinition: ({ name, fields: declared = [] }) => {
      for (const field of declared)
        if (field.directives?.some((directive) => directive.name.value === 'semanticNonNull'))
          marked.add(`${name.value}.${field.name.value}`);
    },
  });
  expect(marked.size).toBeGreaterThan(100);
  const unclear = objects
    .filter((type) => type !== schema.getMutationType() && !/each is null when/i.test(type.description ?? ''))
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })))
    .filter(({ type, field }) => {
      const rest = field.description?.replaceAll(/Null with an error (?:otherwise|when [^.]+)\./g, '') ?? '';
      const expected = !isNonNullType(field.type) && !/\bnull\b/i.test(rest);
      return marked.has(`${type.name}.${field.name}`) !== expected;
    });
  expect(unclear.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([]);
});

test('every mutation is @semanticNonNull, because a refusal without a typed error is an error', () => {
  const names = Object.keys(schema.getMutationType()?.getFields() ?? {});
  expect(names.length).toBeGreaterThan(40);
  expect(printed.match(/^ {2}\): \w+Result @semanticNonNull/gm)).toHaveLength(names.length);
});

test('each deprecation says what to use, and names the date of its removal', () => {
  const reasons = objects
    .flatMap((type) => Object.values(type.getFields()))
    .flatMap(({ deprecationReason, args }) => [
      deprecationReason,
      ...args.map((argument) => argument.deprecationReason),
    ])
    .concat(inputs.flatMap((type) => Object.values(type.getFields()).map(({ deprecationReason }) => deprecationReason)))
    .concat(
      types.filter(isEnumType).flatMap((type) => type.getValues().map(({ deprecationReason }) => deprecationReason)),
    )
    .filter((reason) => reason != null);
  expect(reasons.length).toBeGreaterThan(0);
  const dated = /^Use `[\w.]+`.* Removed on (20\d\d-\d\d-\d\d)\.$/;
  expect(reasons.filter((reason) => Number.isNaN(Date.parse(dated.exec(reason)?.[1] ?? '')))).toEqual([]);
});

/** Members that released schemas have, beside which stands one of the same type. */
const DIFFERENT = /^(?:Actor\.name|SessionChange\.session|\w+Result\.reason)$/;

test('members of a union have one type for one name, so that one document can select it of each', () => {
  const faults = types.filter(isUnionType).flatMap((union) => {
    const all = union.getTypes().flatMap((type) => Object.values(type.getFields()));
    const byName = Map.groupBy(all, ({ name }) => name);
    return [...byName].flatMap(([name, members]) => {
      const coordinate = `${union.name}.${name}`;
      return new Set(members.map(({ type }) => String(type))).size > 1 && !DIFFERENT.test(coordinate)
        ? [coordinate]
        : [];
    });
  });
  expect(faults).toEqual([]);
});

test('descriptions say a bound once, and have the article of the next word', () => {
  const texts = [...contracts['schema.graphql']().matchAll(/"""([^]*?)"""/g)].map(([, text = '']) => text.trim());
  const BOUND = /(?:at most|at least|exactly) [\d,]+ \w+|[\d,]+ to [\d,]+ \w+/gi;
  const bounds = (text: string) => (text.match(BOUND) ?? []).map((bound) => bound.toLowerCase().replaceAll(',', ''));
  expect(texts.filter((text) => new Set(bounds(text)).size < bounds(text).length)).toEqual([]);
  expect(texts.filter((text) => /\b[Aa] (?:[aeio]|un[^i]|MCP|SHA|HTTP)/.test(text))).toEqual([]);
  expect(texts.filter((text) => /\b[Aa]n (?:[b-dfgj-np-tv-z](?![A-Z])|uni|use)/.test(text))).toEqual([]);
});
