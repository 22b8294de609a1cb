import { expect, test } from 'vitest';
import { UsageError } from '../../src/operator/command-arguments.ts';
import { helpOf, helpOfNoun, parseCommandLine } from '../../src/operator/command-line.ts';

const ID = '7d444840-9dc0-11d1-b245-5ffdce74fad2';

test.for([
  [['migrate'], { name: 'migrate', isDryRun: false, finishes: false }],
  [['migrate', '--dry-run', '--json'], { name: 'migrate', isDryRun: true, finishes: false, json: true }],
  [['migrate', '--finish'], { name: 'migrate', isDryRun: false, finishes: true }],
  [['seed'], { name: 'seed' }],
  [['secrets', 'rotate'], { name: 'secrets rotate' }],
  [['--help'], { name: 'help', text: helpOf() }],
  [['help'], { name: 'help', text: helpOf() }],
  [['help', 'keys', 'create'], { name: 'help', text: helpOf('keys create') }],
  [['keys', 'create', '--help'], { name: 'help', text: helpOf('keys create') }],
  [['keys', 'create', '--email', 'x', '-h'], { name: 'help', text: helpOf('keys create') }],
  [['keys', '--help'], { name: 'help', text: helpOfNoun('keys') }],
  [['organizations', 'list', '--json'], { name: 'organizations list', json: true }],
  [['users', 'list', '--organization', 'acme'], { name: 'users list', organization: 'acme' }],
  [['sessions', 'list'], { name: 'sessions list' }],
  [['keys', 'list', '--email', 'a@b', '--all', '--json'], { name: 'keys list', email: 'a@b', all: true, json: true }],
  [
    ['keys', 'create', '--email', 'Ann@example.com', '--organization', 'a-1'],
    { name: 'keys create', email: 'Ann@example.com', organization: 'a-1', role: undefined, scopes: undefined },
  ],
  [
    // A repeated scope is ignored.
    'keys create --email a@b --organization acme --role member --scope social --scope sessions.read --scope social'.split(
      ' ',
    ),
    { name: 'keys create', email: 'a@b', organization: 'acme', role: 'member', scopes: ['social', 'sessions.read'] },
  ],
  [
    ['keys', 'create', '--email', 'a@example.com'],
    { name: 'keys create', email: 'a@example.com', organization: undefined, role: undefined, scopes: undefined },
  ],
  [
    'keys create --email a@example.com --name Runner --expires 90d'.split(' '),
    { name: 'keys create', email: 'a@example.com', label: 'Runner', expires: 7_776_000_000 },
  ],
  [
    'keys create --email a@example.com --expires 2040-01-01T00:00:00+01:00'.split(' '),
    { name: 'keys create', email: 'a@example.com', expires: new Date('2039-12-31T23:00:00Z') },
  ],
  [['keys', 'revoke', ID], { name: 'keys revoke', keyId: ID }],
  [['keys', 'extend', ID], { name: 'keys extend', keyId: ID, scopes: undefined }],
  [
    ['keys', 'extend', ID, '--scope', 'social', '--scope', 'social'],
    { name: 'keys extend', keyId: ID, scopes: ['social'] },
  ],
  [
    ['subscriptions', 'set', '--organization=acme', '--family=sales', '--level=free'],
    { name: 'subscriptions set', organization: 'acme', family: 'sales', level: 'free' },
  ],
  [
    ['events', 'import', 'x.ndjson', '--session', ID.toUpperCase()],
    { name: 'events import', sessionId: ID, path: 'x.ndjson' },
  ],
  [
    ['events', 'prune', '--older-than', '2d', '--organization', 'acme'],
    { name: 'events prune', olderThanMs: 172_800_000, organization: 'acme', isDryRun: false },
  ],
  [
    ['events', 'prune', '--session', ID.toUpperCase(), '--dry-run'],
    { name: 'events prune', sessionId: ID, isDryRun: true },
  ],
] as const)('%s is parsed', ([args, command]) => {
  expect(parseCommandLine(args)).toEqual(command);
});

test.for([
  [['keys', 'create', '--organization', 'acme'], '--email: is required'],
  [
    ['keys', 'create', '--email', 'a@example.com', '--role', 'admin'],
    '--role: needs --organization, because it is a role in an organization',
  ],
  [['keys', 'create', '--email', 'nobody', '--organization', 'acme'], '--email: must be an e-mail address'],
  [
    ['keys', 'create', '--email', 'a@example.com', '--organization', 'Not A Slug'],
    '--organization: must be a slug: lowercase letters and digits in groups joined by single hyphens, at most 100 characters',
  ],
  [
    ['keys', 'create', '--email', 'a@example.com', '--organization', 'a'.repeat(101)],
    expect.stringMatching(/^--organization: must be a slug: /),
  ],
  [
    ['keys', 'create', '--email', 'a@example.com', '--organization', 'acme', '--role', 'owner'],
    '--role: must be one of admin, member, viewer',
  ],
  [
    ['keys', 'create', '--email', 'a@example.com', '--organization', 'acme', '--scope', 'everything'],
    expect.stringMatching(/^--scope: must be one of mcp_connections\.read, /),
  ],
  [['keys', 'create', '--email', 'a@example.com', '--name', ''], '--name: must not be empty'],
  [
    ['keys', 'create', '--email', 'a@example.com', '--expires', 'soon'],
    '--expires: must be days or hours, such as 90d or 12h, or an ISO 8601 date and time',
  ],
  [['keys', 'create', '--color', 'red'], "Unknown option '--color'"],
  [['keys', 'create', 'extra', '--email', 'a@example.com', '--organization', 'acme'], "unexpected argument 'extra'"],
  [['keys', 'revoke'], 'ID: is required'],
  [['keys', 'revoke', 'nonsense'], 'ID: must be the id of an API key'],
  [['keys', 'revoke', '--', '-'.repeat(36)], 'ID: must be the id of an API key'],
  [['keys', 'revoke', ID, ID], `unexpected argument '${ID}'`],
  [
    ['subscriptions', 'set', '--organization', 'acme', '--family', 'sails', '--level', 'free'],
    '--family: must be one of marketing, sales, service, content, data, revenue',
  ],
  [
    ['subscriptions', 'set', '--organization', 'acme', '--family', 'sales', '--level', 'gold'],
    '--level: must be one of free, starter, professional, enterprise',
  ],
  [['events', 'import', 'x.ndjson'], '--session: is required'],
  [['events', 'import', '--session', ID], 'FILE: is required'],
  [['events', 'import', '--session', 'x', 'y'], '--session: must be the id of a session'],
  [['events', 'prune', '--organization', 'acme'], '--older-than: is required without --session'],
  ...['90', 'd', '0d', '-1d', '1w', '100000d'].map(
    (age) =>
      [['events', 'prune', `--older-than=${age}`], '--older-than: must be days or hours, such as 90d or 12h'] as const,
  ),
  [['migrate', 'now'], "unexpected argument 'now'"],
  [['migrate', '--dry-run', '--finish'], '--dry-run: not with --finish'],
  [['secrets', 'rotate', '--all'], "Unknown option '--all'"],
  [['keys', 'create', '--emial', 'x'], "Unknown option '--emial'; did you mean '--email'?"],
  [['keys', 'craete'], "unknown command 'keys craete'; did you mean 'keys create'? --help lists them"],
  [['keys', 'destroy'], "unknown command 'keys destroy'; --help lists them"],
  [['foo', '--help'], "unknown command 'foo'; --help lists them"],
  [
    ['keys'],
    expect.stringMatching(
      /^Usage: .* keys <command>\n\n  keys create +create an API key.*\n  keys list .*\n  keys revoke +revoke an API key\n  keys extend +add scopes.*$/,
    ),
  ],
  [['constructor'], "unknown command 'constructor'; --help lists them"],
] as const)('%s is refused', ([args, message]) => {
  const parsing = () => parseCommandLine(args);
  expect(parsing).toThrow(UsageError);
  expect(parsing).toThrow(expect.objectContaining({ message }));
});

test('without a command, the usage is printed', () => {
  expect(() => parseCommandLine([])).toThrow(/^Usage: npm run --silent cli -- <command>\n/);
});
