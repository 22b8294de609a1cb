import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isAbstractType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredArgument,
  parse,
} from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { statementCostOf } from '../../src/gateway/graphql/document-cost.ts';
import { schema } from '../../src/gateway/schema.ts';
import {
  ARGUMENTS,
  type QueryResult,
  type GrowingWorkspace,
  GROWN_SIZE,
  startGrowingWorkspace,
} from '../support/fixtures/statements.ts';
import { sampleOf } from '../support/sample.ts';

/**
 * The number of statements depends only on the document: fields below a list are read by one statement for all parents.
 * This walks the schema and queries every field with few and with many parents, so new fields are tested without a
 * change here.
 */

const FIXTURE = 'test/support/fixtures/statements.ts';
const STATEMENT_COST = 10;
const FEW = 5;
/** The size of a page below another page, small enough for the cost limit. */
const INNER = 3;
/** After this many runs, an operation runs as compiled code (src/graphql-executor/executor.ts). */
const RUNS_UNTIL_COMPILED = 3;

let growing: GrowingWorkspace;
let few: Walked;
let many: Walked;
beforeAll(async () => {
  growing = await startGrowingWorkspace();
  await growing.grow(FEW);
  few = await walkAll();
});
beforeAll(async () => {
  await growing.grow(GROWN_SIZE);
  many = await walkAll();
});
afterAll(() => growing.gateway.close());

type Field = GraphQLField<unknown, unknown>;

/** A path from the query root to objects of a type. */
interface Place {
  readonly type: GraphQLObjectType;
  /** Response names on the path. */
  readonly path: readonly string[];
  /** The selection around that of the objects. */
  readonly open: string;
  readonly close: string;
  readonly types: readonly GraphQLObjectType[];
  readonly isBelowList: boolean;
  readonly isBelowPage: boolean;
}

interface Measured {
  /** For example `EventDefinition.occurrences`. */
  readonly coordinate: string;
  readonly isBelowList: boolean;
  readonly parents: number;
  readonly statements: number;
  /** Statements of the whole request after its document was compiled. */
  readonly compiled: number;
  /** Statements that the cost of the document counts for the field. */
  readonly counted: number;
  /** Whether the field sends a statement for each type of its objects, which depend on the rows: at most as many as are counted. */
  readonly isOfSeveralTypes: boolean;
  /** A list of an organization that the caller does not act in. */
  readonly isRefused: boolean;
  readonly fault?: string;
  readonly selection: string;
}

const costOf = (selection: string): number =>
  statementCostOf({ schema, document: parse(`{ ${selection} }`) }) / STATEMENT_COST;
const within = ({ open, close }: Place, selection: string): string => `${open} ${selection} ${close}`;
const coordinateOf = ({ type }: Place, { name }: Field): string => `${type.name}.${name}`;

/** Fields that may send statements. */
const coordinates = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type) && !type.name.endsWith('Payload'))
  .flatMap((type) => Object.values((type as GraphQLObjectType).getFields()).map((field) => ({ type, field })))
  .filter(({ field }) => field.args.length > 0 || !isLeafType(getNamedType(field.type)))
  .map(({ type, field }) => `${type.name}.${field.name}`);
const chosen = new Set(sampleOf(coordinates, 40));

/** Whether the field cannot be measured here. The schema marks such fields. */
function isLeftOut({ extensions }: Field): boolean {
  // Tools come from other servers, by one request each, which src/core/outbound/outbound.ts limits.
  return extensions['callsOut'] === true;
}

/** They would refuse the other fields of an organization that the request does not act in. */
const OF_ADMINISTRATORS: ReadonlySet<string> = new Set(['Organization.signInSettings']);

/** Whether the field is read together with its object, so that it adds no statement. */
function isPlain(place: Place, field: Field): boolean {
  if (OF_ADMINISTRATORS.has(coordinateOf(place, field))) return false;
  const type = getNamedType(field.type);
  if (isLeftOut(field) || field.args.length > 0 || isAbstractType(type)) return false;
  if (isObjectType(type) && place.types.includes(type)) return false;
  const selection = isLeafType(type) ? field.name : `${field.name} { __typename }`;
  return costOf(within(place, selection)) === costOf(within(place, '__typename'));
}

function plainFields(place: Place): string {
  const selections = Object.values(place.type.getFields())
    .filter((field) => isPlain(place, field))
    .map((field) => {
      const inside = below(place, field).map(plainFields);
      return inside.length > 0 ? `${field.name} { ${inside.join(' ')} }` : field.name;
    });
  return ['__typename', ...selections].join(' ');
}

const isPage = (type: GraphQLObjectType): boolean => type.name.endsWith('Connection');
const isEdge = (type: GraphQLObjectType): boolean => type.name.endsWith('Edge');

function callOf(place: Place, field: Field, type: string): string {
  const takesPage = field.args.some(({ name }) => name === 'first');
  const given = [
    ...(takesPage ? [`first: ${place.isBelowPage ? INNER : growing.size}`] : []),
    ARGUMENTS[coordinateOf(place, field)]?.(growing.ids, type) ?? [],
  ].flat();
  return given.length > 0 ? `${field.name}(${given.join(', ')})` : field.name;
}

/** The places that a field leads to: one for each type of object that it can return. */
function below(place: Place, field: Field): Place[] {
  const named = getNamedType(field.type);
  const isAbstract = isAbstractType(named);
  const types = isAbstract ? schema.getPossibleTypes(named) : isObjectType(named) ? [named] : [];
  const isList = isListType(getNullableType(field.type));
  return types
    .filter((type) => !place.types.includes(type))
    .map((type) => ({
      type,
      path: [...place.path, field.name],
      open: `${place.open} ${callOf(place, field, type.name)} {${isAbstract ? ` ... on ${type.name} {` : ''}`,
      close: `${isAbstract ? '} ' : ''}} ${place.close}`,
      types: [...place.types, type],
      isBelowList: place.isBelowList || isList,
      isBelowPage: place.isBelowPage || isPage(type) || (isList && field.args.length > 0),
    }));
}

/** Selections of a field alone, with all plain fields below it: one for each type of object that it can return. */
function selectionsOf(place: Place, field: Field): string[] {
  if (isLeafType(getNamedType(field.type))) return [within(place, callOf(place, field, ''))];
  return below(place, field).map((next) => within(next, plainFields(next)));
}

/** The number of objects at a path in the answer. */
function countAt(data: unknown, path: readonly string[]): number {
  if (Array.isArray(data)) return data.reduce<number>((sum, item) => sum + countAt(item, path), 0);
  if (typeof data !== 'object' || data === null) return 0;
  const [name, ...rest] = path;
  return name === undefined ? 1 : countAt((data as Record<string, unknown>)[name], rest);
}

const FOUND_BY_ID: ReadonlySet<string> = new Set([
  'Query.node',
  'AuditEntry.target',
  'FeedEntry.subject',
  'DeletionJob.subject',
  'UsageReportRow.subject',
  'SessionCount.subject',
]);

const OTHER_ORGANIZATION = /^a request acts in one organization: send the header X-Organization-Id/;

async function measure(
  place: Place,
  field: Field,
  selection: string,
  [base, without]: [string, QueryResult],
): Promise<Measured> {
  // Selects the plain fields of the object as well, so that the difference is only the field's own statements.
  const whole = selection.replace(place.open, () => `${place.open} ${plainFields(place)}`);
  const asked = await growing.ask(whole);
  let compiled = asked;
  for (let run = 1; run < RUNS_UNTIL_COMPILED; run += 1) compiled = await growing.ask(whole);
  const unexpected = [...without.errors, ...asked.errors].find((message) => !OTHER_ORGANIZATION.test(message));
  return {
    coordinate: coordinateOf(place, field),
    isBelowList: place.isBelowList,
    parents: countAt(without.data, place.path),
    statements: asked.statements - without.statements,
    compiled: compiled.statements,
    counted: costOf(whole) - costOf(base),
    isOfSeveralTypes: Number(field.extensions['ownStatements']) > 1,
    selection: selection.replaceAll(/ids: \["[^\]]*\]/g, 'ids: […]'),
    isRefused: asked.errors.length > 0,
    ...(unexpected !== undefined && { fault: `${unexpected}: {${whole}}` }),
  };
}

const MEASURED_BELOW: Readonly<Record<string, readonly string[]>> = {
  Organization: ['Query', 'Viewer', 'OrganizationConnection'],
  Session: ['Query', 'SessionConnection'],
  SessionConnection: ['Organization'],
  AuditEntryConnection: ['Organization'],
  PullRequestConnection: ['Artifact'],
  Webhook: ['Query', 'WebhookConnection'],
  FeedEntry: ['FeedEntryConnection'],
  EventProperty: ['EventDefinition'],
  SessionEventConnection: ['Session', 'ToolCall'],
  SessionSubagent: ['Query', 'ToolCall'],
  ...Object.fromEntries(
    ['UserMessage', 'AgentMessage', 'Thinking', 'ToolCall', 'SessionNote'].map((type) => [
      type,
      ['SessionEntryConnection'],
    ]),
  ),
};

/** Many types have a field for their organization or session, and entries lead to each other. Its fields are measured only where MEASURED_BELOW lists them. */
function isAskedElsewhere(place: Place, next: Place): boolean {
  return MEASURED_BELOW[next.type.name]?.includes(place.type.name) === false;
}

/** What a contributor must add so that the field can be queried; undefined if nothing is missing. */
function gapOf(place: Place, field: Field): string | undefined {
  const coordinate = coordinateOf(place, field);
  const wants = field.args.filter((argument) => isRequiredArgument(argument)).map(({ name }) => name);
  if (wants.length > 0 && !ARGUMENTS[coordinate]) return `fill in ${wants.join(', ')} of ${coordinate} in ${FIXTURE}`;
  const named = getNamedType(field.type);
  if (!isAbstractType(named) || place.types.length > 1) return undefined;
  const missing = schema.getPossibleTypes(named).filter(({ name }) => !growing.ids[name]?.length);
  return missing.map(({ name }) => `say in NODE_LISTS of ${FIXTURE} where ${name} is listed`).join('\n') || undefined;
}

/** Measures the chosen fields of the objects at a place, and of all places below. */
async function walk(place: Place, found: Measured[], gaps: Set<string>): Promise<void> {
  const alone = within(place, plainFields(place));
  let base: QueryResult | undefined;
  for (const field of Object.values(place.type.getFields())) {
    if (isLeftOut(field)) continue;
    const gap = gapOf(place, field);
    if (gap !== undefined) {
      gaps.add(gap);
      continue;
    }
    let isRefused = false;
    const isMeasured = chosen.has(coordinateOf(place, field)) && !isPlain(place, field);
    for (const selection of isMeasured ? selectionsOf(place, field) : []) {
      base ??= await growing.ask(alone);
      const measured = await measure(place, field, selection, [alone, base]);
      found.push(measured);
      isRefused ||= measured.isRefused;
    }
    // The nodes of edges are measured as nodes of their page, and the objects that are found by their ids below `nodes`.
    if (isRefused || isEdge(place.type) || FOUND_BY_ID.has(coordinateOf(place, field))) continue;
    for (const next of below(place, field)) if (!isAskedElsewhere(place, next)) await walk(next, found, gaps);
  }
}

interface Walked {
  readonly found: readonly Measured[];
  /** What a contributor must add so that every field can be queried. */
  readonly gaps: ReadonlySet<string>;
}

async function walkAll(): Promise<Walked> {
  const type = schema.getQueryType();
  if (!type) throw new Error('the schema has no query type');
  const [found, gaps] = [new Array<Measured>(), new Set<string>()];
  const start = { path: [], open: '', close: '', types: [type], isBelowList: false, isBelowPage: false };
  await walk({ type, ...start }, found, gaps);
  return { found, gaps };
}

test('the walk has queried every field, and each field below a list with few and with many parents', () => {
  expect([...many.gaps].join('\n')).toBe('');
  const found = new Set(many.found.map(({ coordinate }) => coordinate));
  // The deepest fields show that the walk was complete.
  for (const deep of ['Artifact.pullRequests', 'EventDefinition.occurrencesPerDay'])
    expect([deep, found.has(deep)]).toEqual([deep, chosen.has(deep)]);
  const isEnough = ({ coordinate }: Measured, index: number) =>
    (few.found[index]?.parents ?? 0) >= FEW && (many.found[index]?.parents ?? 0) >= GROWN_SIZE ? coordinate : [];
  const enough = new Set(many.found.flatMap(isEnough));
  const wanted = many.found.filter(({ isBelowList, isRefused }) => isBelowList && !isRefused);
  const tooFewParents = new Set(wanted.flatMap(({ coordinate }) => (enough.has(coordinate) ? [] : coordinate)));
  expect(
    [...tooFewParents]
      .map((name) => `${name} never had ${FEW} and ${GROWN_SIZE} parents: make them in ${FIXTURE}`)
      .join('\n'),
  ).toBe('');
});

test('every field sends the same number of statements for many parents as for few', () => {
  const faults = many.found.flatMap((measured, index) => {
    const { fault, coordinate, parents, statements, compiled, selection, isOfSeveralTypes } = measured;
    const before = few.found[index];
    if (fault !== undefined) return fault;
    // test/domains/audit-log/targets.test.ts compares many objects of the same types. That no more are sent than are counted is tested below.
    if (isOfSeveralTypes) return [];
    if (before?.statements === statements && before.compiled === compiled) return [];
    return `${coordinate}: ${before?.statements} statements for ${before?.parents} parents and ${statements} for ${parents}, compiled ${before?.compiled} and ${compiled} in all; read it for all parents at once (src/core/graphql/batches.ts): {${selection}}`;
  });
  expect(faults.join('\n')).toBe('');
});

test('the cost of a field counts a statement exactly if the field sends one', () => {
  const answered = many.found.filter(({ isRefused }) => !isRefused);
  const faults = answered
    .filter(({ statements, counted }) => statements > counted)
    .map(
      ({ coordinate, statements, counted, selection }) =>
        `${coordinate}: ${statements} statements, but it costs as ${counted}; mark what sends them with OWN_STATEMENT of src/core/graphql/builder.ts: {${selection}}`,
    );
  // At some places, a field is read together with its parent; but a field that is marked must send a statement somewhere.
  const ofOneType = answered.filter(({ isOfSeveralTypes }) => !isOfSeveralTypes);
  const wronglyMarked = Object.entries(Object.groupBy(ofOneType, ({ coordinate }) => coordinate))
    .filter(([, places = []]) => places.every(({ statements, counted }) => statements < counted))
    .map(([coordinate]) => `${coordinate} costs as a statement and sends none: take the mark OWN_STATEMENT from it`);
  expect([...faults, ...wronglyMarked].join('\n')).toBe('');
});
