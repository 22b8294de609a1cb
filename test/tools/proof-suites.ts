/**
 * What the suites prove whose figures are in test/proof/results.json, and the test of each: `suite` is the name that the
 * test passes to `proof()`.
 */
interface Suite {
  readonly suite: string;
  readonly claim: string;
  readonly test: string;
}

const NO_LOSS = 'no acknowledged write is lost or doubled';

const FAILURES: readonly Suite[] = [
  {
    suite: 'webhooks under kill -9',
    claim:
      'When gateways are killed at any moment, healthy webhooks get every change, in order, whatever the others answer.',
    test: 'test/faults/webhooks.test.ts',
  },
  {
    suite: 'kill -9 under load',
    claim: `When gateways and the database are killed at any moment, ${NO_LOSS}.`,
    test: 'test/faults/kill.test.ts',
  },
  {
    suite: 'Database restarted under load',
    claim: `When the database restarts, ${NO_LOSS}, and the only errors are 503.`,
    test: 'test/faults/database-faults.test.ts',
  },
  {
    suite: 'Connections to the database cut under load',
    claim: `When database connections are reset, ${NO_LOSS}, and the only errors are 503.`,
    test: 'test/faults/database-faults.test.ts',
  },
  {
    suite: 'Slow database',
    claim: 'With 100 ms more for each statement, every request succeeds.',
    test: 'test/faults/database-faults.test.ts',
  },
  {
    suite: 'Clock set forward and back',
    claim: `When the clock jumps by hours, ${NO_LOSS}.`,
    test: 'test/faults/database-faults.test.ts',
  },
  {
    suite: 'Database away',
    claim:
      'A stopped, paused or exhausted database is answered 503 in bounded time, and the gateway recovers by itself.',
    test: 'test/faults/database-away.test.ts',
  },
  {
    suite: 'Log of outages',
    claim: 'Outages of the database write few log lines.',
    test: 'test/faults/database-log.test.ts',
  },
  {
    suite: 'Disk full',
    claim: `On a full disk of the database reads continue, writes get 503, and ${NO_LOSS}.`,
    test: 'test/faults/disk-full.test.ts',
  },
  {
    suite: 'Failover of a Patroni cluster',
    claim: `When the primary of a cluster is lost, writes resume without a restart, and ${NO_LOSS}.`,
    test: 'test/proof/failover.test.ts',
  },
  {
    suite: 'Read replicas',
    claim: 'A read after a write sees the write, also when a replica serves it.',
    test: 'test/faults/read-replicas.test.ts',
  },
  {
    suite: 'PgBouncer in transaction mode',
    claim: `Behind PgBouncer nothing depends on a session of the server, and ${NO_LOSS}.`,
    test: 'test/faults/pgbouncer.test.ts',
  },
  {
    suite: 'Backup under load and restore',
    claim: 'The documented backup and restore lose nothing that was acknowledged before the backup.',
    test: 'test/faults/backup.test.ts',
  },
  {
    suite: 'Migrations',
    claim: 'Every migration runs up, down and up again on a database with data.',
    test: 'test/faults/upgrade.test.ts',
  },
  {
    suite: 'Upgrade, side by side',
    claim: 'The previous version keeps serving during and after a migration.',
    test: 'test/faults/upgrade.test.ts',
  },
];

const LOAD: readonly Suite[] = [
  {
    suite: 'Soak',
    claim: 'Memory and latency do not grow under ten minutes of mixed load.',
    test: 'test/proof/soak.test.ts',
  },
  {
    suite: 'Widest documents',
    claim: 'The most expensive legal documents delay other requests by at most 500 ms and fit into 512 MiB.',
    test: 'test/proof/widest-documents.test.ts',
  },
  {
    suite: 'Widest inputs',
    claim: 'The widest inputs of every operation delay other requests by at most 500 ms and take at most 200 MiB.',
    test: 'test/widest/operations.test.ts',
  },
  {
    suite: 'Widest lines',
    claim: 'So do lines of agents in every format.',
    test: 'test/widest/lines.test.ts',
  },
  {
    suite: 'Widest messages',
    claim: 'So do messages of WebSockets.',
    test: 'test/widest/sockets.test.ts',
  },
  {
    suite: 'Widest answers',
    claim: 'So do answers of MCP servers to every operation that calls them.',
    test: 'test/widest/servers.test.ts',
  },
  {
    suite: 'Token refreshes beside a misbehaving server',
    claim: 'No server is asked for tokens more than once in 10 s, and none delays the refreshes of others.',
    test: 'test/proof/token-refreshes.test.ts',
  },
  {
    suite: 'Readers that never read',
    claim: 'Fifty clients that never read their large answers cannot exhaust memory.',
    test: 'test/proof/widest-documents.test.ts',
  },
  {
    suite: 'Hostile load',
    claim: 'A thousand slow or silent connections, and a hostile key, leave honest clients at least 0.8 of their rate.',
    test: 'test/proof/hostile-load.test.ts',
  },
  {
    suite: 'Hostile documents',
    claim: 'Every hostile document and malformed body gets its own 4xx, over every transport.',
    test: 'test/faults/hostile-documents.test.ts',
  },
  {
    suite: 'Hostile documents: time and memory',
    claim: 'Hostile documents take bounded time and memory.',
    test: 'test/proof/hostile-documents.test.ts',
  },
  {
    suite: 'Revocation races',
    claim: 'After a loss of rights is acknowledged, no change of that caller is committed.',
    test: 'test/across/revocation-race.test.ts',
  },
];

const RECORDED_DATA: readonly Suite[] = [
  {
    suite: 'Recorded data deleted and redacted beside others',
    claim:
      'While a session of a million events is deleted and others are redacted, others append, read, search and follow without a loss, and no transaction takes longer than 100 ms.',
    test: 'test/proof/recorded-data.test.ts',
  },
  {
    suite: 'Jobs of recorded data killed twice',
    claim: 'Purges and retention end once, with one audit log entry, though both of their workers are killed twice.',
    test: 'test/proof/recorded-data.test.ts',
  },
  {
    suite: 'Hold against retention',
    claim: 'A hold that is set while retention runs wins or loses: the session is whole, or gone with its events.',
    test: 'test/proof/recorded-data.test.ts',
  },
  {
    suite: 'Export of an organization',
    claim: 'The export of a million events needs constant memory, and one that is cut has no last line.',
    test: 'test/proof/recorded-data.test.ts',
  },
];

const ORACLES: readonly Suite[] = [
  {
    suite: 'Parity of the APIs',
    claim: 'Random sequences of commands have the same results on GraphQL and REST.',
    test: 'test/faults/parity.test.ts',
  },
  {
    suite: 'GraphQL as an oracle',
    claim: 'Random operations over the whole schema get answers that conform to it, compiled or not.',
    test: 'test/faults/graphql-oracle.test.ts',
  },
  {
    suite: 'OpenAPI as an oracle',
    claim: 'Random REST requests get answers that conform to openapi.json.',
    test: 'test/conformance/openapi-oracle.test.ts',
  },
  {
    suite: 'Compiled queries of random schemas',
    claim: 'The compiled executor answers like graphql-js.',
    test: 'test/graphql-executor/random-queries.unit.test.ts',
  },
];

const CONFORMANCE: readonly Suite[] = [
  {
    suite: 'GraphQL over HTTP',
    claim: 'The audits of the GraphQL over HTTP specification pass.',
    test: 'test/conformance/graphql-over-http.test.ts',
  },
  {
    suite: 'GraphQL clients',
    claim: 'Five GraphQL clients read, page, write, handle errors and follow events.',
    test: 'test/conformance/clients.test.ts',
  },
  {
    suite: 'Relay',
    claim: 'A Relay application compiles, pages both ways and follows events.',
    test: 'test/conformance/relay.test.ts',
  },
  {
    suite: 'Resumed subscriptions',
    claim: 'A client that follows events in a documented way receives each once, across restarts.',
    test: 'test/conformance/resumed-subscriptions.test.ts',
  },
  {
    suite: 'REST client (openapi-typescript, openapi-fetch)',
    claim: 'A generated client calls every documented operation without type errors.',
    test: 'test/conformance/rest-client.test.ts',
  },
  {
    suite: '@hubspot/api-client',
    claim: 'The npm client works unchanged.',
    test: 'test/conformance/hubspot-client.test.ts',
  },
  {
    suite: 'npm client @tembo-io/sdk (generic calls)',
    claim: 'The npm client works unchanged.',
    test: 'test/conformance/tembo-client.test.ts',
  },
  {
    suite: 'OpenAPI, Spectral',
    claim: 'openapi.json follows the recommended rules of Spectral.',
    test: 'test/conformance/openapi-lint.test.ts',
  },
  {
    suite: 'OpenAPI, Redocly',
    claim: 'openapi.json follows the recommended rules of Redocly.',
    test: 'test/conformance/openapi-lint.test.ts',
  },
  {
    suite: 'Breaking changes of the schema',
    claim: 'CHANGELOG.md announces every breaking change of schema.graphql.',
    test: 'test/conformance/breaking-changes.test.ts',
  },
  {
    suite: 'MCP client conformance',
    claim: 'The MCP client passes the official conformance suite, with known exceptions.',
    test: 'test/conformance/mcp-client.test.ts',
  },
  {
    suite: 'MCP reference server',
    claim: 'The gateway connects to the MCP reference server and lists its tools.',
    test: 'test/conformance/mcp-everything.test.ts',
  },
];

const PAGES: readonly Suite[] = [
  {
    suite: 'Long session in the console',
    claim: 'Read from end to end, a session needs a bounded page, and each part of it is requested once.',
    test: 'test/browser/timeline.test.ts',
  },
  {
    suite: 'GraphiQL in Chromium',
    claim: 'Every example runs; no request leaves for another host; axe-core reports nothing serious.',
    test: 'test/browser/graphiql.test.ts',
  },
  {
    suite: 'REST reference in Chromium',
    claim: 'Every operation is shown; no request leaves for another host; axe-core reports nothing serious.',
    test: 'test/browser/reference.test.ts',
  },
  {
    suite: 'Bytes of each page in Chromium',
    claim: 'The first and the next load of each page stay below a bound.',
    test: 'test/browser/transfer.test.ts',
  },
];

/** Measured by programs of test/bench; `npm run proof` keeps their results. */
const COSTS: readonly Suite[] = [
  {
    suite: 'Cost of lines, index, feed and sockets',
    claim:
      'Appending the lines of an agent, the search index behind an append, the feed entry of a change, and a WebSocket cost little.',
    test: 'test/bench/pairs.ts',
  },
  {
    suite: 'Search over a million events',
    claim: 'A search takes milliseconds, unless it finds a large part of all texts.',
    test: 'test/bench/search.ts',
  },
];

export const SUITES: readonly Suite[] = [
  ...FAILURES,
  ...LOAD,
  ...RECORDED_DATA,
  ...ORACLES,
  ...CONFORMANCE,
  ...PAGES,
  ...COSTS,
];
