import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS } from '../core/config.ts';
import { ROLES, SCOPES } from '../core/access.ts';
import { FORMAT_NAMES } from '../domains/session-events/public.ts';
import type { CommandName } from './command.ts';
import { largest } from '../core/largest.ts';

interface Help {
  /** The arguments of the command. */
  readonly takes: string;
  readonly summary: string;
  /** Each option or argument with its meaning. */
  readonly details: readonly (readonly [option: string, meaning: string])[];
}

const OUTPUT = ['--json', 'print one line of JSON for each row, even in a terminal'] as const;
const PLAN_FILE = ['FILE', 'a tracking plan in YAML or JSON; - reads standard input'] as const;
const OF_ORGANIZATION = ['--organization SLUG', 'only rows of this organization'] as const;

const HELP: { readonly [Name in CommandName]: Help } = {
  migrate: { takes: '', summary: 'migrate the database to this version', details: [] },
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
  },
  'keys revoke': { takes: 'ID', summary: 'revoke an API key', details: [] },
  'organizations list': { takes: '', summary: 'list organizations, newest first', details: [OUTPUT] },
  'users list': {
    takes: '[--organization SLUG]',
    summary: 'list users, newest first',
    details: [OF_ORGANIZATION, OUTPUT],
  },
  'sessions list': {
    takes: '[--organization SLUG]',
    summary: 'list sessions, newest first',
    details: [OF_ORGANIZATION, OUTPUT],
  },
  'subscriptions set': {
    takes: '--organization SLUG --family F --level L',
    summary: 'change a subscription of an organization',
    details: [
      ['--family F', PRODUCT_FAMILIES.join(', ')],
      ['--level L', SUBSCRIPTION_LEVELS.join(', ')],
    ],
  },
  'events import': {
    takes: '--session ID [--format FORMAT] FILE.ndjson',
    summary: 'append the events of a file to a session; if it is interrupted, run it again to continue',
    details: [
      ['--session ID', 'the session that gets the events'],
      ['--format FORMAT', `the agent that has written the lines: ${FORMAT_NAMES.join(', ')}`],
      ['FILE.ndjson', 'one event per line, or with --format one line of the agent; - reads standard input'],
    ],
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
  },
  'plan export': {
    takes: '',
    summary: 'print the tracking plan of a gateway as YAML; GATEWAY is its address, KEY an API key',
    details: [],
  },
  'plan check': {
    takes: 'FILE [--against OTHER]',
    summary: 'print the differences of a tracking plan to the gateway; status 1 if one is breaking, 2 for errors',
    details: [PLAN_FILE, ['--against OTHER', 'compare with another file instead of the gateway']],
  },
  'plan apply': {
    takes: 'FILE [--dry-run] [--delete]',
    summary: 'change the event definitions of the gateway as the tracking plan says, all or none',
    details: [
      PLAN_FILE,
      ['--dry-run', 'let the gateway check the plan, and change nothing'],
      ['--delete', 'also delete the events and properties that are not in the file'],
    ],
  },
  'plan types': {
    takes: 'FILE',
    summary: 'print a TypeScript module with one function for each event of a tracking plan',
    details: [PLAN_FILE],
  },
  'secrets rotate': {
    takes: '',
    summary: 'encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS',
    details: [],
  },
  seed: { takes: '', summary: 'create the demo workspace in an empty database', details: [] },
};

const CALL = 'npm run --silent cli --';

/** The text of `--help`: all commands, or one of them with its options. */
export function helpOf(command?: CommandName): string {
  if (command === undefined) {
    return `Usage: ${CALL} <command>\n\n${commandList('')}\n--help after a command lists its options; --version prints the version.\n`;
  }
  const { takes, summary, details } = HELP[command];
  const width = largest(
    details.map(([option]) => option.length),
    0,
  );
  const lines = details.map(([option, meaning]) => `  ${option.padEnd(width)}  ${meaning}\n`);
  return `Usage: ${`${CALL} ${command} ${takes}`.trimEnd()}\n\n${summary}\n${lines.length > 0 ? '\n' : ''}${lines.join('')}`;
}

/** The commands of a noun, such as `keys`. */
export function helpOfNoun(noun: string): string {
  return `Usage: ${CALL} ${noun} <command>\n\n${commandList(`${noun} `)}`;
}

function commandList(prefix: string): string {
  const commands = Object.entries(HELP).filter(([name]) => name.startsWith(prefix));
  const width = largest(
    commands.map(([name]) => name.length),
    0,
  );
  return commands.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`).join('');
}
