import type { z } from 'zod';
import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS } from '../core/config.ts';
import { ROLES, SCOPES_OF_PEOPLE } from '../core/access.ts';
import { DAY_MS } from '../core/text/timestamps.ts';
import { isUuid } from '../core/ids.ts';
import { createApiKeyInput } from '../domains/api-keys/public.ts';
import { FORMAT_NAMES, type TableEntry, memberTable } from '../domains/session-events/public.ts';
import {
  type Given,
  type Parameter,
  type Parameters,
  UsageError,
  asText,
  flag,
  optional,
  parse,
  repeated,
  required,
} from './command-arguments.ts';

/** A command: what it does, and what it takes from the command line. */
interface Entry<Parsed extends object = object> {
  readonly summary: string;
  /** The arguments, for the help. */
  readonly takes: string;
  readonly parameters: readonly Parameter[];
  /** @throws UsageError for invalid arguments */
  readonly parse: (args: readonly string[]) => Parsed;
}

function command<Table extends Parameters>(summary: string, table: Table): Entry<Given<Table>>;
function command<Table extends Parameters, Parsed extends object>(
  summary: string,
  table: Table,
  /** Checks the parameters together. */
  check: (given: Given<Table>) => Parsed,
): Entry<Parsed>;
function command(summary: string, table: Parameters, check = (given: object): object => given): Entry {
  const parameters = Object.values(table);
  const takes = parameters.flatMap(({ shown }) => shown || []).join(' ');
  return { summary, takes, parameters, parse: (args) => check(parse(table, args)) };
}

const oneOf =
  <const Value extends string>(allowed: readonly Value[]) =>
  (text: string, name: string): Value => {
    const found = allowed.find((candidate) => candidate === text);
    if (found === undefined) throw new UsageError(`${name}: must be one of ${allowed.join(', ')}`);
    return found;
  };

/** A text that a schema accepts, or whose fault has another message. */
const accepted =
  <Value>(schema: z.ZodType<Value>, message?: string) =>
  (text: string, name: string): Value => {
    const { data, error } = schema.safeParse(text);
    if (error) throw new UsageError(`${name}: ${message ?? error.issues[0]?.message}`);
    return data;
  };

const matching =
  (isMeant: (text: string) => boolean, message: string) =>
  (text: string, name: string): string => {
    if (!isMeant(text)) throw new UsageError(`${name}: must be ${message}`);
    return text;
  };

/** Milliseconds of days or hours, such as `90d` or `12h`. */
function spanOf(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (unit === 'd' ? DAY_MS : 3_600_000);
}

function ageOf(text: string, name: string): number {
  const span = spanOf(text);
  if (span === undefined) throw new UsageError(`${name}: must be days or hours, such as 90d or 12h`);
  return span;
}

const KEY = createApiKeyInput.shape;
const momentOf = accepted(KEY.expiresAt, 'must be days or hours, such as 90d or 12h, or an ISO 8601 date and time');
const expiryOf = (text: string, name: string) => spanOf(text) ?? momentOf(text, name);

const emailOf = matching((text) => /^[^@\s]+@[^@\s]+$/.test(text), 'an e-mail address');
const slugOf = matching(
  (text) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text) && text.length <= 100,
  'a slug: lowercase letters and digits in groups joined by single hyphens, at most 100 characters',
);
const keyIdOf = matching(isUuid, 'the id of an API key');
const isSessionId = matching(isUuid, 'the id of a session');
const sessionIdOf = (text: string, name: string) => isSessionId(text.toLowerCase(), name);

const ONLY_ROWS = 'only rows of this organization';
const JSON_OUTPUT: Parameter<true | undefined> = {
  ...optional('--json', 'print one line of JSON for each row, even in a terminal', () => true as const),
  shown: '',
};
const LIST = { organization: optional('--organization SLUG', ONLY_ROWS, asText), json: JSON_OUTPUT };
const KEY_ID = required('ID', 'the id of the key, which keys list prints', keyIdOf);
const PLAN_FILE = required('FILE', 'a tracking plan in YAML or JSON; - reads standard input', asText);
const ADDRESS: { readonly addresses: Parameter<string[]> } = {
  addresses: {
    usage: 'ADDRESS',
    meaning: 'the address of the gateway; by default that of the variable GATEWAY or of the only login',
    shown: '[ADDRESS]',
    read: (given: readonly string[]) => [...given],
  },
};

export const COMMANDS = {
  migrate: {
    ...command(
      'migrate the database to this version',
      {
        isDryRun: flag(
          '--dry-run',
          'only list each pending migration with the tables that it locks and the mode of the lock',
        ),
        finishes: flag(
          '--finish',
          'say that no process of an earlier version is left, which behind a pooler the gateway cannot see',
        ),
        json: JSON_OUTPUT,
      },
      (given) => {
        if (given.isDryRun && given.finishes) throw new UsageError('--dry-run: not with --finish');
        return given;
      },
    ),
    takes: '[--dry-run | --finish]',
  },
  'keys create': command(
    'create an API key, and its user and organization if they do not exist',
    {
      email: required('--email E', 'e-mail address of the user', emailOf),
      organization: optional(
        '--organization SLUG',
        'bind the key to this organization; without it the key is valid in any organization of its user',
        slugOf,
      ),
      role: optional(
        '--role ROLE',
        `${ROLES.join(', ')}; by default a new member of an existing organization is a member; the first of a new one is an admin`,
        oneOf(ROLES),
      ),
      scopes: repeated(
        '--scope S',
        `scopes of the key, by default all that the role can have: ${SCOPES_OF_PEOPLE.join(', ')}`,
        oneOf(SCOPES_OF_PEOPLE),
      ),
      label: optional('--name NAME', 'name of the key, at most 100 characters', accepted(KEY.name)),
      expires: optional(
        '--expires WHEN',
        'days or hours from now, such as 90d or 12h, or an ISO 8601 time; by default never',
        expiryOf,
      ),
    },
    (given) => {
      if (given.organization === undefined && given.role !== undefined)
        throw new UsageError('--role: needs --organization, because it is a role in an organization');
      return given;
    },
  ),
  'keys list': command('list API keys, newest first', {
    organization: LIST.organization,
    email: optional('--email E', 'only keys of this user', asText),
    all: optional('--all', 'include revoked and expired keys', () => true as const),
    json: JSON_OUTPUT,
  }),
  'keys revoke': command('revoke an API key', { keyId: KEY_ID }),
  'keys extend': command('add scopes to an API key, such as those of a newer version', {
    keyId: KEY_ID,
    scopes: repeated('--scope S', 'scopes to add, by default all that this version knows', oneOf(SCOPES_OF_PEOPLE)),
  }),
  'sign-in link': command(
    'print a link that signs a person in once within 10 minutes, also without the identity provider',
    { email: required('--email E', 'e-mail address of the person', asText) },
  ),
  'identities list': command('list the identities with which people sign in, newest first', {
    email: optional('--email E', 'only those of this person', asText),
    json: JSON_OUTPUT,
  }),
  'identities unlink': command(
    'unlink a person from the identity provider; the next identity with the verified address is joined',
    { email: required('--email E', 'e-mail address of the person', asText) },
  ),
  'organizations list': command('list organizations, newest first', { json: JSON_OUTPUT }),
  'organizations export': command(
    'write everything of an organization, one JSON object on a line; without a last line `end` it is not complete',
    { organization: required('--organization SLUG', 'the organization, by its slug', asText) },
    (given) => ({ ...given, json: true as const }),
  ),
  'users delete': command('delete an account and what its person recorded privately', {
    email: required('--email E', 'e-mail address of the person', asText),
  }),
  'users list': command('list users, newest first', LIST),
  'sessions list': command('list sessions, newest first', LIST),
  'subscriptions set': command('change a subscription of an organization', {
    organization: required('--organization SLUG', 'the organization, by its slug', asText),
    family: required('--family F', PRODUCT_FAMILIES.join(', '), oneOf(PRODUCT_FAMILIES)),
    level: required('--level L', SUBSCRIPTION_LEVELS.join(', '), oneOf(SUBSCRIPTION_LEVELS)),
  }),
  'events import': command(
    'append the events of a file to a session; if it is interrupted, run it again to continue',
    {
      sessionId: required('--session ID', 'the session that gets the events', sessionIdOf),
      format: optional(
        '--format FORMAT',
        `the agent that has written the lines: ${FORMAT_NAMES.join(', ')}`,
        oneOf(FORMAT_NAMES),
      ),
      map: optional(
        '--map TABLE',
        'what the members of lines of the format jsonl mean, such as from:human=user,body.text=text',
        accepted<readonly TableEntry[]>(memberTable),
      ),
      path: required(
        'FILE.ndjson',
        'one event per line, or with --format one line of the agent; - reads standard input',
        asText,
      ),
    },
    (given) => {
      if (given.map && given.format !== 'jsonl') throw new UsageError('--map: is only for --format jsonl');
      return given;
    },
  ),
  'events prune': command(
    'delete the oldest events of sessions; requires an age or a session',
    {
      olderThanMs: optional(
        '--older-than AGE',
        'days or hours, such as 90d or 12h; the first younger event of a session and all after it are kept',
        ageOf,
      ),
      sessionId: optional('--session ID', 'only events of this session; without an age all of them', sessionIdOf),
      organization: LIST.organization,
      isDryRun: flag('--dry-run', 'only count the events'),
    },
    (given) => {
      // Without either it would delete all events.
      if (given.olderThanMs === undefined && given.sessionId === undefined)
        throw new UsageError('--older-than: is required without --session');
      return given;
    },
  ),
  login: command('sign in to a gateway in a browser; the recorder then needs no key', ADDRESS),
  logout: command('end this sign-in', ADDRESS),
  'plan export': command('print the tracking plan of a gateway as YAML; GATEWAY is its address, KEY an API key', {}),
  'plan check': command(
    'print the differences of a tracking plan to that of GATEWAY with KEY; status 1 if one is breaking, 2 for errors',
    {
      path: PLAN_FILE,
      against: optional('--against OTHER', 'compare with another file instead of the gateway', asText),
      deletes: flag('--delete', 'what only the gateway has counts as removed, as with plan apply --delete'),
    },
  ),
  'plan apply': command(
    'change the event definitions of GATEWAY with KEY as the tracking plan says; up to 250 of them all or none',
    {
      path: PLAN_FILE,
      isDryRun: flag('--dry-run', 'let the gateway check the plan, and change nothing'),
      deletes: flag('--delete', 'also delete the events and properties that are not in the file'),
      breaksTypes: flag('--breaking', 'also change types so that values that are accepted today can be refused'),
    },
  ),
  'plan types': command('print a TypeScript module with one function for each event of a tracking plan', {
    path: PLAN_FILE,
  }),
  'database copy': command(
    'copy everything to an empty database, such as from the embedded one to your own PostgreSQL',
    {
      to: required(
        '--to URL',
        'the database, as postgresql://…; a password can also be in the variable PGPASSWORD',
        asText,
      ),
    },
  ),
  'secrets rotate': command('encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS', {}),
  seed: command('create the demo workspace in an empty database', {}),
} as const satisfies Readonly<Record<string, Entry>>;

export type CommandName = keyof typeof COMMANDS;
type Named<Name extends CommandName> = { readonly name: Name } & Readonly<ReturnType<(typeof COMMANDS)[Name]['parse']>>;
export type Command = { [Name in CommandName]: Named<Name> }[CommandName];
/** The commands that call a gateway over HTTP, or read only files. All others use the database. */
export type PlanCommand = Extract<Command, { name: `plan ${string}` }>;
export type LoginCommand = Extract<Command, { name: 'login' | 'logout' }>;
export type DatabaseCommand = Exclude<Command, PlanCommand | LoginCommand>;

export const isPlanCommand = (given: { readonly name: string }): given is PlanCommand => given.name.startsWith('plan ');

export function isLoginCommand(given: { readonly name: string }): given is LoginCommand {
  return given.name === 'login' || given.name === 'logout';
}
