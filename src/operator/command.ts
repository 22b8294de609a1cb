import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS } from '../core/config.ts';
import { ROLES, SCOPES, type Scope } from '../core/access.ts';
import { FORMAT_NAMES, type FormatName, type TableEntry, memberTable } from '../domains/session-events/public.ts';
import { isUuid } from '../core/text/uuids.ts';
import {
  UsageError,
  expiryOf,
  isSlug,
  labelOf,
  olderThan,
  oneOf,
  parse,
  required,
  sessionIdOf,
} from './command-arguments.ts';

/** A command: its help, and what it takes from the command line. */
interface Entry {
  /** The arguments, for the help. */
  readonly takes: string;
  readonly summary: string;
  /** Each option or argument with its meaning. */
  readonly details: readonly (readonly [option: string, meaning: string])[];
  /** @throws UsageError for invalid arguments */
  readonly parse: (args: string[]) => object;
}

const OUTPUT = ['--json', 'print one line of JSON for each row, even in a terminal'] as const;
const PLAN_FILE = ['FILE', 'a tracking plan in YAML or JSON; - reads standard input'] as const;
const OF_ORGANIZATION = ['--organization SLUG', 'only rows of this organization'] as const;

const LIST_OPTIONS = { organization: { type: 'string' }, json: { type: 'boolean' } } as const;

function nothing(args: string[]): object {
  parse(args, {});
  return {};
}

function keyIdOf(given: string | undefined): string {
  const keyId = required(given, 'ID');
  if (!isUuid(keyId)) throw new UsageError('ID: must be the id of an API key');
  return keyId;
}

function scopesOf(given: readonly string[] | undefined): Scope[] | undefined {
  return given && [...new Set(given.map((scope) => oneOf(SCOPES, scope, '--scope')))];
}

const ADDRESS = ['ADDRESS', 'the address of the gateway; by default the variable GATEWAY'] as const;

function address(args: string[]): { addresses: string[] } {
  return { addresses: parse(args, {}, 1).positionals };
}

export const COMMANDS = {
  migrate: { takes: '', summary: 'migrate the database to this version', details: [], parse: nothing },
  'keys create': {
    takes: '--email E [--organization SLUG] [--role ROLE] [--scope S]... [--name NAME] [--expires WHEN]',
    summary: 'create an API key, and its user and organization if they do not exist',
    details: [
      ['--email E', 'e-mail address of the user'],
      [
        '--organization SLUG',
        'bind the key to this organization; without it the key is valid in any organization of its user',
      ],
      [
        '--role ROLE',
        `${ROLES.join(' or ')}; by default a new member of an existing organization is a member; the first of a new one is an admin`,
      ],
      ['--scope S', `scopes of the key, by default all: ${SCOPES.join(', ')}`],
      ['--name NAME', 'name of the key, at most 100 characters'],
      ['--expires WHEN', 'days or hours from now, such as 90d or 12h, or an ISO 8601 time; by default never'],
    ],
    parse: (args) => {
      const { values } = parse(args, {
        email: { type: 'string' },
        organization: { type: 'string' },
        role: { type: 'string' },
        scope: { type: 'string', multiple: true },
        name: { type: 'string' },
        expires: { type: 'string' },
      });
      const email = required(values.email, '--email');
      const { organization } = values;
      if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('--email: must be an e-mail address');
      if (organization !== undefined && !isSlug(organization)) {
        throw new UsageError(
          '--organization: must be a slug: lowercase letters and digits in groups joined by single hyphens, at most 100 characters',
        );
      }
      if (organization === undefined && values.role !== undefined)
        throw new UsageError('--role: needs --organization, because it is a role in an organization');
      return {
        email,
        organization,
        role: values.role === undefined ? undefined : oneOf(ROLES, values.role, '--role'),
        scopes: scopesOf(values.scope),
        label: values.name === undefined ? undefined : labelOf(values.name),
        expires: values.expires === undefined ? undefined : expiryOf(values.expires),
      };
    },
  },
  'keys list': {
    takes: '[--organization SLUG] [--email E] [--all]',
    summary: 'list API keys, newest first',
    details: [
      OF_ORGANIZATION,
      ['--email E', 'only keys of this user'],
      ['--all', 'include revoked and expired keys'],
      OUTPUT,
    ],
    parse: (args) => {
      const options = { email: { type: 'string' }, all: { type: 'boolean' } } as const;
      const { values } = parse(args, { ...LIST_OPTIONS, ...options });
      return { ...values };
    },
  },
  'keys revoke': {
    takes: 'ID',
    summary: 'revoke an API key',
    details: [],
    parse: (args) => {
      return { keyId: keyIdOf(parse(args, {}, 1).positionals[0]) };
    },
  },
  'keys extend': {
    takes: 'ID [--scope S]...',
    summary: 'add scopes to an API key, such as those of a newer version',
    details: [['--scope S', 'scopes to add, by default all that this version knows']],
    parse: (args) => {
      const { values, positionals } = parse(args, { scope: { type: 'string', multiple: true } }, 1);
      return { keyId: keyIdOf(positionals[0]), scopes: scopesOf(values.scope) };
    },
  },
  'sign-in link': {
    takes: '--email E',
    summary: 'print a link that signs a person in once within 10 minutes, also without the identity provider',
    details: [['--email E', 'e-mail address of the person']],
    parse: (args) => ({ email: required(parse(args, { email: { type: 'string' } }).values.email, '--email') }),
  },
  'organizations list': {
    takes: '',
    summary: 'list organizations, newest first',
    details: [OUTPUT],
    parse: (args) => {
      const { json } = parse(args, { json: LIST_OPTIONS.json }).values;
      return { json };
    },
  },
  'organizations export': {
    takes: '--organization SLUG',
    summary:
      'write everything of an organization, one JSON object on a line; without a last line `end` it is not complete',
    details: [OF_ORGANIZATION],
    parse: (args) => ({
      organization: required(parse(args, { organization: { type: 'string' } }).values.organization, '--organization'),
      json: true,
    }),
  },
  'users list': {
    takes: '[--organization SLUG]',
    summary: 'list users, newest first',
    details: [OF_ORGANIZATION, OUTPUT],
    parse: (args) => ({ ...parse(args, LIST_OPTIONS).values }),
  },
  'sessions list': {
    takes: '[--organization SLUG]',
    summary: 'list sessions, newest first',
    details: [OF_ORGANIZATION, OUTPUT],
    parse: (args) => ({ ...parse(args, LIST_OPTIONS).values }),
  },
  'subscriptions set': {
    takes: '--organization SLUG --family F --level L',
    summary: 'change a subscription of an organization',
    details: [
      ['--family F', PRODUCT_FAMILIES.join(', ')],
      ['--level L', SUBSCRIPTION_LEVELS.join(', ')],
    ],
    parse: (args) => {
      const { values } = parse(args, {
        organization: { type: 'string' },
        family: { type: 'string' },
        level: { type: 'string' },
      });
      return {
        organization: required(values.organization, '--organization'),
        family: oneOf(PRODUCT_FAMILIES, required(values.family, '--family'), '--family'),
        level: oneOf(SUBSCRIPTION_LEVELS, required(values.level, '--level'), '--level'),
      };
    },
  },
  'events import': {
    takes: '--session ID [--format FORMAT] [--map TABLE] FILE.ndjson',
    summary: 'append the events of a file to a session; if it is interrupted, run it again to continue',
    details: [
      ['--session ID', 'the session that gets the events'],
      ['--format FORMAT', `the agent that has written the lines: ${FORMAT_NAMES.join(', ')}`],
      ['--map TABLE', 'what the members of lines of the format jsonl mean, such as from:human=user,body.text=text'],
      ['FILE.ndjson', 'one event per line, or with --format one line of the agent; - reads standard input'],
    ],
    parse: (args): ImportedFile => {
      const options = { session: { type: 'string' }, format: { type: 'string' }, map: { type: 'string' } } as const;
      const { values, positionals } = parse(args, options, 1);
      const session = required(values.session, '--session');
      const path = required(positionals[0], 'FILE');
      const format = values.format === undefined ? undefined : oneOf(FORMAT_NAMES, values.format, '--format');
      const map = values.map === undefined ? undefined : tableOf(values.map, format);
      return { sessionId: sessionIdOf(session), path, format, map };
    },
  },
  'events prune': {
    takes: '[--older-than AGE] [--session ID] [--organization SLUG] [--dry-run]',
    summary: 'delete the oldest events of sessions; requires an age or a session',
    details: [
      [
        '--older-than AGE',
        'days or hours, such as 90d or 12h; the first younger event of a session and all after it are kept',
      ],
      ['--session ID', 'only events of this session; without an age all of them'],
      OF_ORGANIZATION,
      ['--dry-run', 'only count the events'],
    ],
    parse: (args) => {
      const { values } = parse(args, {
        'older-than': { type: 'string' },
        session: { type: 'string' },
        organization: { type: 'string' },
        'dry-run': { type: 'boolean', default: false },
      });
      const { 'older-than': age, session, organization, 'dry-run': isDryRun } = values;
      // Without either it would delete all events.
      if (age === undefined && session === undefined)
        throw new UsageError('--older-than: is required without --session');
      return {
        olderThanMs: age === undefined ? undefined : olderThan(age),
        sessionId: session === undefined ? undefined : sessionIdOf(session),
        organization,
        isDryRun,
      };
    },
  },
  login: {
    takes: '[ADDRESS]',
    summary: 'sign in to a gateway in a browser; the recorder then needs no key',
    details: [ADDRESS],
    parse: address,
  },
  logout: { takes: '[ADDRESS]', summary: 'end this sign-in', details: [ADDRESS], parse: address },
  'plan export': {
    takes: '',
    summary: 'print the tracking plan of a gateway as YAML; GATEWAY is its address, KEY an API key',
    details: [],
    parse: nothing,
  },
  'plan check': {
    takes: 'FILE [--against OTHER]',
    summary: 'print the differences of a tracking plan to the gateway; status 1 if one is breaking, 2 for errors',
    details: [PLAN_FILE, ['--against OTHER', 'compare with another file instead of the gateway']],
    parse: (args) => {
      const { values, positionals } = parse(args, { against: { type: 'string' } }, 1);
      return { path: required(positionals[0], 'FILE'), against: values.against };
    },
  },
  'plan apply': {
    takes: 'FILE [--dry-run] [--delete] [--breaking]',
    summary: 'change the event definitions of the gateway as the tracking plan says; up to 250 of them all or none',
    details: [
      PLAN_FILE,
      ['--dry-run', 'let the gateway check the plan, and change nothing'],
      ['--delete', 'also delete the events and properties that are not in the file'],
      ['--breaking', 'also change types so that values that are accepted today can be refused'],
    ],
    parse: (args) => {
      const options = {
        'dry-run': { type: 'boolean', default: false },
        delete: { type: 'boolean', default: false },
        breaking: { type: 'boolean', default: false },
      } as const;
      const { values, positionals } = parse(args, options, 1);
      const path = required(positionals[0], 'FILE');
      return { path, isDryRun: values['dry-run'], deletes: values.delete, breaksTypes: values.breaking };
    },
  },
  'plan types': {
    takes: 'FILE',
    summary: 'print a TypeScript module with one function for each event of a tracking plan',
    details: [PLAN_FILE],
    parse: (args) => ({ path: required(parse(args, {}, 1).positionals[0], 'FILE') }),
  },
  'secrets rotate': {
    takes: '',
    summary: 'encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS',
    details: [],
    parse: nothing,
  },
  seed: { takes: '', summary: 'create the demo workspace in an empty database', details: [], parse: nothing },
} as const satisfies Readonly<Record<string, Entry>>;

interface ImportedFile {
  readonly sessionId: string;
  readonly path: string;
  readonly format?: FormatName | undefined;
  readonly map?: readonly TableEntry[] | undefined;
}

/** A table of members, for lines of the format that has one. */
function tableOf(table: string, format: FormatName | undefined): readonly TableEntry[] {
  if (format !== 'jsonl') throw new UsageError('--map: is only for --format jsonl');
  const { data, error } = memberTable.safeParse(table);
  if (error) throw new UsageError(`--map: ${error.issues[0]?.message}`);
  return data;
}

export type CommandName = keyof typeof COMMANDS;
type Parsed<Name extends CommandName> = { readonly name: Name } & Readonly<
  ReturnType<(typeof COMMANDS)[Name]['parse']>
>;
export type Command = { [Name in CommandName]: Parsed<Name> }[CommandName];
/** The commands that call a gateway over HTTP, or read only files. All others use the database. */
export type PlanCommand = Extract<Command, { name: `plan ${string}` }>;
export type LoginCommand = Extract<Command, { name: 'login' | 'logout' }>;
export type DatabaseCommand = Exclude<Command, PlanCommand | LoginCommand>;

export function isLoginCommand(command: { readonly name: string }): command is LoginCommand {
  return command.name === 'login' || command.name === 'logout';
}
