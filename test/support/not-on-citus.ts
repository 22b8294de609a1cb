// What does not apply to a cluster of Citus, each with its reason: files, and tests by a part of their name.

const TRIGGER = 'makes a trigger, which Citus refuses on tables of organizations';
const OWN_STATEMENT =
  'a statement of the test itself, not of the gateway, reads, locks or changes rows without naming the organization';
const TABLE_LOCK =
  'makes changes of accounts, members, keys or connections at the same time: Citus locks these tables as a whole, and ends one of two that meet';
const OF_POSTGRES = 'checks plans, waits or settings of the one server of a suite';

const FILES: Readonly<Record<string, string>> = {
  'test/deploy/citus.test.ts': 'distributes a database of PostgreSQL without Citus',
  'test/across/acting-organization.test.ts': TRIGGER,
  'test/across/isolation.test.ts': TRIGGER,
  'test/across/statements.test.ts': TABLE_LOCK,
  'test/core/postgres/unavailable.test.ts': OF_POSTGRES,
};

export const NOT_SHARDED_FILES: readonly string[] = Object.keys(FILES);

export const NOT_SHARDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/across/authority-at-effect.test.ts': {
    'is committed before the answer that its caller was': OWN_STATEMENT,
    'administrators who take each other': TABLE_LOCK,
  },
  'test/across/early-pages.test.ts': { 'event definitions with large properties': OWN_STATEMENT },
  'test/across/revocation-race.test.ts': { 'no change is committed after the end': TABLE_LOCK },
  'test/operator/commands.test.ts': { 'concurrent runs of keys create': TABLE_LOCK },
  'test/core/postgres/connections.test.ts': { 'the parameters of the database URL': OF_POSTGRES },
  'test/domains/api-keys/rules.test.ts': { 'the removal of a member waits for a key': TRIGGER },
  'test/domains/audit-log/rules.test.ts': {
    'a commit that fails': TRIGGER,
    'a connection that is killed before the commit': OF_POSTGRES,
  },
  'test/domains/event-definitions/races.test.ts': { 'a change that is concurrent with a deletion': OWN_STATEMENT },
  'test/domains/event-occurrences/races.test.ts': { 'a deletion waits for a send': OF_POSTGRES },
  'test/domains/invitations/accept-again.test.ts': { 'of concurrent acceptances in two processes': TABLE_LOCK },
  'test/domains/mcp-connections/settings.test.ts': {
    '20 connections of one name': TABLE_LOCK,
    'connections of earlier versions': OWN_STATEMENT,
  },
  'test/domains/mcp-connections/token-refresh.test.ts': {
    'many concurrent uses through two gateways': TABLE_LOCK,
    'while many use two gateways': TABLE_LOCK,
  },
  'test/domains/mcp-use/failures.test.ts': { 'a connection has at most 20 calls at once': TABLE_LOCK },
  'test/domains/organization-deletions/races.test.ts': {
    'the deletion waits for a write': TRIGGER,
    'a job that failed at any step': TRIGGER,
    'of several workers that have deleted everything': TRIGGER,
  },
  'test/domains/organization-deletions/rules.test.ts': { 'with rows in every table': OWN_STATEMENT },
  'test/domains/session-events/append.test.ts': { 'of 20 concurrent appends of one batch': OWN_STATEMENT },
  'test/domains/session-events/crowd.test.ts': { '100 appends that wait for one session': OWN_STATEMENT },
  'test/domains/session-events/plans.test.ts': { 'plans pages of a long session once': OF_POSTGRES },
  'test/domains/session-events/tail-bounds.test.ts': { '50 idle tails send the same statements': TABLE_LOCK },
  'test/domains/sessions/lock-order.test.ts': { 'a transition that is concurrent with an append': TRIGGER },
  'test/domains/user-deletions/job.test.ts': {
    'several workers can run the deletion job': OWN_STATEMENT,
    'of several workers that have deleted everything': TRIGGER,
    'leaves no rows of requests': OWN_STATEMENT,
  },
  'test/domains/user-deletions/races.test.ts': {
    'the last two admins': TABLE_LOCK,
    'the deletion of a session waits': TRIGGER,
  },
  'test/domains/user-deletions/records.test.ts': { 'organizations with other members': OWN_STATEMENT },
  'test/domains/user-deletions/rules.test.ts': { 'of an organization that others have created': OWN_STATEMENT },
  'test/gateway/idempotency/twins.test.ts': {
    'wait for a slow request': OWN_STATEMENT,
    'gets 503 without an effect': OWN_STATEMENT,
  },
  'test/gateway/rest/openapi-answers.test.ts': { 'an operation describes 403': TABLE_LOCK },
};
