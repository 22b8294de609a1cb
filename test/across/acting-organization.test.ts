import { type GraphQLField, getNamedType, isEnumType, isNonNullType, isObjectType, isScalarType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessOf } from '../../src/core/graphql/refusable.ts';
import { isFile, type AnyRoute, type KeylessRoute, isKeyless, isRaw, isWrite } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';
import { send } from '../support/fixtures/second-gateway.ts';
import { MUTATION_CASES, missingCases, restRequestOf } from '../support/operations/cases.ts';
import { type Recorded, publishManifest, setHold } from '../support/operations/recorded-organization.ts';
import { canRefer, namesObject, selectionsOf, refersIn } from '../support/operations/references.ts';
import {
  type Changes,
  type Combination,
  NAMES,
  type Name,
  type TwoOrganizations,
  startTwoOrganizations,
} from '../support/operations/two-organizations.ts';
import { sampled } from '../support/sample.ts';

/**
 * Sends every operation of both APIs (found in the route table and the schema) with each kind of key of a user in two
 * organizations and each value of X-Organization-Id. Each acts in the intended organization, or is refused before
 * anything is read or written.
 */

let fixture: TwoOrganizations;
/** The ids that the requests refer to, by the name of an organization or of an API and combination. */
const references: Partial<Record<string, Recorded>> = {};
beforeAll(async () => {
  fixture = await startTwoOrganizations();
  for (const name of NAMES) references[name] = await fixture.record(name);
  for (const { title, acts } of fixture.combinations)
    for (const api of APIS)
      if (acts !== 'refused') references[`${api}, ${title}`] = await fixture.record(acts === 'nowhere' ? 'A' : acts);
});
afterAll(() => fixture.close());

const APIS = ['GraphQL', 'REST'] as const;

/** The ids of an organization's objects, or of a separate set for one API and combination, whose operations may delete it. */
function referencesOf(name: string): Recorded {
  const to = references[name];
  if (!to) throw new Error(`nothing was recorded for ${name}`);
  return to;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}
type Ask = (combination: Combination, to: Recorded) => Promise<Answer>;

interface Operation {
  readonly api: (typeof APIS)[number];
  readonly name: string;
  readonly writes: boolean;
  readonly inOrganization: boolean;
  readonly ask: Ask;
  /** Whether its input or path can refer to an object of another organization. */
  readonly refers: boolean;
}

/** Inputs of the mutations whose case would decide the outcome of later operations, or has an object that earlier ones remove. */
const INPUTS: Readonly<Record<string, (to: Recorded) => object>> = {
  changeOrganizationMemberRole: ({ userId }) => ({ userId, role: 'MEMBER' }),
  deleteOrganization: ({ organizationId }) => ({ organizationId, confirmSlug: 'another' }),
  deleteOrganizationMemberData: ({ organizationId, suspendedUserId: userId }) => ({ organizationId, userId }),
};

/** Query strings of the routes that need one. */
const QUERY_STRINGS: Readonly<Record<string, string>> = {
  searchSessions: '?text=New',
  readUsageReport: '?from=2026-01-01&until=2027-01-01',
};

/** With these inputs, these writes are refused in every organization. The tests in test/domains cover their effects. */
const REFUSED_EVERYWHERE = new Set(['leaveOrganization', 'deleteOrganization']);
/** It finds only members of the acting organization, and they have the role already: another role would decide the outcome of later operations. */
const CHANGES_NOTHING = 'changeOrganizationMemberRole';
/** With an unbound key, it creates keys for the organization that the input names, whatever the header says. */
const REACHES_OTHERS = 'createApiKey';

function askGraphQL(combination: Combination, query: string, variables: object = {}, accept = 'application/json') {
  const { key, header } = combination;
  const headers = { 'Content-Type': 'application/json', Accept: accept, ...header };
  const body = JSON.stringify({ query, variables });
  return send(fixture.gateway, 'POST', '/graphql', { key, headers, body });
}

const fieldsOf = (type: ReturnType<typeof schema.getQueryType>) => Object.values(type?.getFields() ?? {});

const mutations = MUTATION_CASES.map(([name, { input: inputOf }]): Operation => {
  const field = schema.getMutationType()?.getFields()[name];
  const query = `mutation($input: ${String(field?.args[0]?.type)}) { ${name}(input: $input) { __typename ... on Error { code } } }`;
  return {
    api: 'GraphQL',
    name,
    writes: true,
    inOrganization: field !== undefined && accessOf(field)?.inOrganization === true,
    refers: canRefer(field?.args[0]?.type),
    ask: (combination, to) => askGraphQL(combination, query, { input: (INPUTS[name] ?? inputOf)(to) }),
  };
});

/** Selects the scalar fields of an object type, and the lists that it leads to. */
function selectionOf(field: GraphQLField<unknown, unknown>, depth = 0): string {
  const type = getNamedType(field.type);
  if (!isObjectType(type)) return '{ __typename }';
  const needsNoArgument = (each: GraphQLField<unknown, unknown>) =>
    !each.args.some((argument) => isNonNullType(argument.type));
  const selected = Object.values(type.getFields()).flatMap((each) => {
    const inner = getNamedType(each.type);
    if (!needsNoArgument(each)) return [];
    if (isScalarType(inner) || isEnumType(inner)) return [each.name];
    if (depth > 4 || !isObjectType(inner)) return [];
    const leadsToList = type.name === 'Viewer' || type.name.endsWith('Connection') || inner.name.endsWith('Connection');
    return leadsToList && each.name !== 'edges' ? [`${each.name} ${selectionOf(each, depth + 1)}`] : [];
  });
  return `{ __typename ${selected.join(' ')} }`;
}

const queries = fieldsOf(schema.getQueryType()).map((field): Operation => {
  const argument = field.args.some((each) => isNonNullType(each.type)) ? '(label: "New")' : '';
  const documentOf = (to: Recorded) => selectionsOf(field, to)[0] ?? `${field.name}${argument} ${selectionFor(field)}`;
  return {
    api: 'GraphQL',
    name: field.name,
    writes: false,
    inOrganization: accessOf(field)?.inOrganization === true,
    refers: namesObject(field),
    ask: (combination, to) => askGraphQL(combination, `{ ${documentOf(to)} }`),
  };
});

function selectionFor(field: GraphQLField<unknown, unknown>): string {
  return isScalarType(getNamedType(field.type)) ? '' : selectionOf(field);
}

const subscriptions = fieldsOf(schema.getSubscriptionType()).map((field): Operation => {
  const documentOf = (to: Recorded) => selectionsOf(field, to)[0] ?? `${field.name} { __typename }`;
  return {
    api: 'GraphQL',
    name: field.name,
    writes: false,
    inOrganization: true,
    refers: namesObject(field),
    ask: (combination, to) => askGraphQL(combination, `subscription { ${documentOf(to)} }`, {}, 'text/event-stream'),
  };
});

type KeyedRoute = Exclude<AnyRoute, KeylessRoute>;

/** A link cannot send a header, so that the query names the organization. */
const operationOf = (route: KeyedRoute, isLink = false): Operation => ({
  api: 'REST',
  name: `${route.method} ${route.path}`,
  writes: isWrite(route),
  inOrganization: route.access.inOrganization,
  refers: refersIn(route.path.replace(':userId', '')),
  ask: ({ key, header }, to) => {
    const { path, body } = restRequestOf(route, to);
    const accepted = isRaw(route) && { Accept: 'application/json, text/event-stream' };
    const named = isLink ? undefined : header;
    const headers = { 'Content-Type': 'application/json', ...accepted, ...named };
    const query = new URLSearchParams(QUERY_STRINGS[route.operationId]);
    if (isLink) for (const organization of Object.values(header)) query.set('organization', organization);
    return send(fixture.gateway, route.method, `${path}?${query}`, {
      key,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
  },
});
const keyed = routes.filter((route): route is KeyedRoute => !isKeyless(route));
const links = keyed.filter(isFile).map((route) => operationOf(route, true));
const ofRest = [...keyed.map((route) => operationOf(route)), ...links];

/** The server of the connection has no streams and no sessions. */
const REFUSED_BY_SERVER = /^(?:GET|DELETE) .*\/mcp$/;
/** They number entries, or store those of sessions, that are new. */
const STORES = new Set(['GET /v1/feed', 'GET /v1/audit-log', 'GET /v1/sessions/:sessionId/entries']);
/** Ends what another operation begins. */
const RELEASES = /^DELETE .*\/(?:hold|handled)$|^releaseSession$/;
/** Operations that remove an object run after all operations that need it. */
const REMOVES = /^(?:transition|leave|cancel)|delete|remove|revoke/i;
const rank = ({ name }: Operation) =>
  REMOVES.test(name) && !REFUSED_BY_SERVER.test(name) && !RELEASES.test(name)
    ? /Definition|definitions\/:\w+$/.test(name)
      ? 2
      : 1
    : 0;
const all = [...mutations, ...ofRest, ...queries].toSorted((a, b) => rank(a) - rank(b));
const title = (operation: Operation) =>
  [`${operation.name}${links.includes(operation) ? ' as a link' : ''}`, operation] as const;

/** Reading stores them, of sessions that are new. */
const IS_FOLDED = /^(?:session_entry|session_fold|removed_entry)$/;

/** Names of the organizations in which a row of a counted table has changed. */
function changedIn(changes: Changes, counts: (table: string) => boolean = () => true): Name[] {
  return NAMES.filter((name) => [...changes[name]].some((table) => !IS_FOLDED.test(table) && counts(table)));
}
/** Refused operations write these too. */
const isNotAuditEntry = (table: string) => table !== 'audit_entry' && table !== 'event_violation';

/**
 * Names of the organizations whose data the answer exposes although the request does not act in them. One that acts
 * nowhere may refer to A.
 */
function exposedBy({ acts }: Combination, text: string): Name[] {
  const { organizations } = fixture;
  const shown = NAMES.filter(
    (name) => name !== (acts === 'nowhere' ? 'A' : acts) && text.includes(organizations[name].mark),
  );
  return text.includes(organizations.C.id) ? [...shown, 'C'] : shown;
}

interface Outcome {
  readonly answer: RegExp;
  readonly changes: readonly Name[];
  /** The operation does not depend on the acting organization, so its changes are not checked. */
  readonly mayChangeAnything?: boolean;
}

function outcomeOf({ name, inOrganization, writes }: Operation, { acts }: Combination): Outcome {
  if (!inOrganization || REFUSED_EVERYWHERE.has(name)) return { answer: /./, changes: [], mayChangeAnything: true };
  if (acts === 'nowhere') return { answer: /: 400 |"(?:INVALID_INPUT|ValidationError)"/, changes: [] };
  if (STORES.has(name)) return { answer: /: 200 /, changes: [], mayChangeAnything: true };
  if (REFUSED_BY_SERVER.test(name)) return { answer: /: 405 /, changes: [] };
  // It is in the audit log.
  const isRecorded = writes || /^GET \/v1\/organizations\/:organizationId\/(?:members\/:userId\/)?export$/.test(name);
  const changes = isRecorded && name !== CHANGES_NOTHING ? NAMES.filter((each) => each === acts) : [];
  return { answer: /: 20\d (?!.*"(?:code|errors)":)/, changes };
}

test('each answer that is a file can be a link', () => {
  expect(links.map(({ name }) => name).toSorted()).toEqual([
    'GET /v1/access-review',
    'GET /v1/audit-log',
    'GET /v1/event-definitions/:name/occurrences/export',
    'GET /v1/organizations/:organizationId/export',
    'GET /v1/organizations/:organizationId/members/:userId/export',
    'GET /v1/sessions/:sessionId/export',
    'GET /v1/usage-report',
  ]);
});

test('every mutation and every route that writes has a case', () => {
  expect(missingCases()).toBe('');
});

sampled(describe, 16).each([...all, ...subscriptions].map(title))('%s', (_, operation) => {
  test('is refused before anything is read if the header names an organization that the key cannot act in', async () => {
    const to = referencesOf('C');
    await fixture.changes();
    for (const combination of fixture.combinations.filter(({ acts }) => acts === 'refused')) {
      fixture.gateway.statements.length = 0;
      const { status, text } = await operation.ask(combination, to);
      const { message = '' } = combination.refusal ?? {};
      const isLink = links.includes(operation);
      expect([combination.title, status, text]).toEqual([
        combination.title,
        combination.refusal?.status,
        expect.stringContaining(isLink ? message.replace('X-Organization-Id', 'organization') : message),
      ]);
      // The only statement is the lookup of the key.
      expect(fixture.gateway.statements).toHaveLength(1);
      expect(text).not.toContain(fixture.organizations.C.mark);
    }
    expect(changedIn(await fixture.changes())).toEqual([]);
  });
});

// Before the operations that remove the objects.
const referring = all.filter(({ refers, name }) => refers && name !== REACHES_OTHERS);

sampled(describe, 12).each(referring.map(title))('%s', (_, operation) => {
  test('finds no object of an organization that the request does not act in', async () => {
    await fixture.changes();
    for (const combination of fixture.combinations.filter(({ acts }) => acts !== 'refused')) {
      for (const name of NAMES.filter((each) => each !== combination.acts)) {
        const { text } = await operation.ask(combination, referencesOf(name));
        const showsOther = text.includes(fixture.organizations[name].mark);
        expect([combination.title, name, showsOther ? text : '']).toEqual([combination.title, name, '']);
      }
    }
    expect(changedIn(await fixture.changes(), isNotAuditEntry)).toEqual([]);
  });
});

sampled(describe, 20).each(all.map(title))('%s', (_, operation) => {
  test('acts in the intended organization, or in none', async () => {
    for (const combination of fixture.combinations.filter(({ acts }) => acts !== 'refused')) {
      const to = referencesOf(`${operation.api}, ${combination.title}`);
      if (/session/i.test(operation.name)) await setHold(fixture.gateway, to, RELEASES.test(operation.name));
      if (/^DELETE .*manifests/.test(operation.name)) await publishManifest(fixture.gateway, to);
      await fixture.changes();
      const { status, text } = await operation.ask(combination, to);
      const changes = await fixture.changes();
      const answer = `${combination.title}: ${status} ${text}`;
      const { acts } = combination;
      const elsewhere = changedIn(changes, isNotAuditEntry).filter((name) => name !== acts);
      expect([answer, operation.name === REACHES_OTHERS ? [] : elsewhere]).toEqual([answer, []]);
      expect([answer, exposedBy(combination, text)]).toEqual([answer, []]);
      const outcome = outcomeOf(operation, combination);
      expect(answer).toMatch(outcome.answer);
      expect([answer, outcome.mayChangeAnything ? [] : changedIn(changes)]).toEqual([answer, outcome.changes]);
    }
  });
});
