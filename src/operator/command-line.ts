import { parseArgs } from 'node:util';
import { DAY_MS } from '../core/text/timestamps.ts';
import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS } from '../core/config.ts';
import { ROLES, SCOPES } from '../core/access.ts';
import { createApiKeyInput } from '../domains/api-keys/public.ts';
import { FORMAT_NAMES } from '../domains/session-events/public.ts';
import { isUuid } from '../core/text/uuids.ts';
import { helpOf, helpOfNoun } from './command-help.ts';
import type { Command, CommandName } from './command.ts';

/** A mistake of the operator. The command line prints only its message, without a stack. */
export class UsageError extends Error {}

/** Requests that need no database. */
export type Question = { readonly name: 'help'; readonly text: string } | { readonly name: 'version' };

const PARSERS: { readonly [Name in CommandName]: (args: string[]) => Command } = {
  migrate: (args) => withoutOptions('migrate', args),
  'keys create': (args) => {
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
      name: 'keys create',
      email,
      organization,
      role: values.role === undefined ? undefined : oneOf(ROLES, values.role, '--role'),
      scopes: values.scope && [...new Set(values.scope.map((scope) => oneOf(SCOPES, scope, '--scope')))],
      label: values.name === undefined ? undefined : labelOf(values.name),
      expires: values.expires === undefined ? undefined : expiryOf(values.expires),
    };
  },
  'keys list': (args) => {
    const options = { email: { type: 'string' }, all: { type: 'boolean' } } as const;
    const { values } = parse(args, { ...LIST_OPTIONS, ...options });
    return { name: 'keys list', ...values };
  },
  'keys revoke': (args) => {
    const keyId = required(parse(args, {}, 1).positionals[0], 'ID');
    if (!isUuid(keyId)) throw new UsageError('ID: must be the id of an API key');
    return { name: 'keys revoke', keyId };
  },
  'organizations list': (args) => {
    const { json } = parse(args, { json: LIST_OPTIONS.json }).values;
    return { name: 'organizations list', json };
  },
  'users list': (args) => ({ name: 'users list', ...parse(args, LIST_OPTIONS).values }),
  'sessions list': (args) => ({ name: 'sessions list', ...parse(args, LIST_OPTIONS).values }),
  'subscriptions set': (args) => {
    const { values } = parse(args, {
      organization: { type: 'string' },
      family: { type: 'string' },
      level: { type: 'string' },
    });
    return {
      name: 'subscriptions set',
      organization: required(values.organization, '--organization'),
      family: oneOf(PRODUCT_FAMILIES, required(values.family, '--family'), '--family'),
      level: oneOf(SUBSCRIPTION_LEVELS, required(values.level, '--level'), '--level'),
    };
  },
  'events import': (args) => {
    const options = { session: { type: 'string' }, format: { type: 'string' } } as const;
    const { values, positionals } = parse(args, options, 1);
    const session = required(values.session, '--session');
    const path = required(positionals[0], 'FILE');
    const format = values.format === undefined ? undefined : oneOf(FORMAT_NAMES, values.format, '--format');
    return { name: 'events import', sessionId: sessionIdOf(session), path, format };
  },
  'events prune': (args) => {
    const { values } = parse(args, {
      'older-than': { type: 'string' },
      session: { type: 'string' },
      organization: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
    });
    const { 'older-than': age, session, organization, 'dry-run': isDryRun } = values;
    // Without either it would delete all events.
    if (age === undefined && session === undefined) throw new UsageError('--older-than: is required without --session');
    return {
      name: 'events prune',
      olderThanMs: age === undefined ? undefined : olderThan(age),
      sessionId: session === undefined ? undefined : sessionIdOf(session),
      organization,
      isDryRun,
    };
  },
  'plan export': (args) => withoutOptions('plan export', args),
  'plan check': (args) => {
    const { values, positionals } = parse(args, { against: { type: 'string' } }, 1);
    return { name: 'plan check', path: required(positionals[0], 'FILE'), against: values.against };
  },
  'plan apply': (args) => {
    const options = {
      'dry-run': { type: 'boolean', default: false },
      delete: { type: 'boolean', default: false },
    } as const;
    const { values, positionals } = parse(args, options, 1);
    const path = required(positionals[0], 'FILE');
    return { name: 'plan apply', path, isDryRun: values['dry-run'], deletes: values.delete };
  },
  'plan types': (args) => ({ name: 'plan types', path: required(parse(args, {}, 1).positionals[0], 'FILE') }),
  'secrets rotate': (args) => withoutOptions('secrets rotate', args),
  seed: (args) => withoutOptions('seed', args),
};

const LIST_OPTIONS = { organization: { type: 'string' }, json: { type: 'boolean' } } as const;

/**
 * Parses the arguments of the command line.
 * @throws UsageError if there is no command, or its arguments are invalid.
 */
export function parseCommandLine(args: readonly string[]): Command | Question {
  const [first = '', second = ''] = args;
  if (args.length === 0) throw new UsageError(helpOf().trimEnd());
  if (first === '--version' || first === '-V') return { name: 'version' };
  const isHelp = first === 'help';
  const [noun = '', verb = ''] = isHelp ? args.slice(1) : [first, second];
  const name = [`${noun} ${verb}`, noun].find(isCommandName);
  const wantsHelp = isHelp || args.some((argument) => argument === '--help' || argument === '-h');
  if (wantsHelp) return { name: 'help', text: helpOf(name) };
  if (!name && second === '' && isNoun(first)) throw new UsageError(helpOfNoun(first).trimEnd());
  if (!name) throw new UsageError(`unknown command '${args.slice(0, 2).join(' ')}'; --help lists them`);
  return PARSERS[name](args.slice(name.split(' ').length));
}

function isCommandName(text: string): text is CommandName {
  return Object.hasOwn(PARSERS, text);
}

function isNoun(text: string): boolean {
  return Object.keys(PARSERS).some((name) => name.startsWith(`${text} `));
}

function withoutOptions(name: 'migrate' | 'plan export' | 'secrets rotate' | 'seed', args: string[]): Command {
  parse(args, {});
  return { name };
}

type ParsedOptions = NonNullable<Parameters<typeof parseArgs>[0]>['options'];

function parse<const Options extends ParsedOptions>(args: string[], options: Options, maxPositionals = 0) {
  const parsed = strictly(() => parseArgs({ args, options, allowPositionals: true, strict: true }));
  const unexpected = parsed.positionals[maxPositionals];
  if (unexpected !== undefined) throw new UsageError(`unexpected argument '${unexpected}'`);
  return parsed;
}

/** Reports invalid options with the first sentence of Node's message; the rest is advice about `--`. */
function strictly<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.split('. ')[0] : String(error), { cause: error });
  }
}

function sessionIdOf(text: string): string {
  const id = text.toLowerCase();
  if (!isUuid(id)) throw new UsageError('--session: must be the id of a session');
  return id;
}

const KEY = createApiKeyInput.shape;

const UNIT_MS = { d: DAY_MS, h: 3_600_000 } as const;

/** Milliseconds of days or hours, such as `90d` or `12h`. */
function spanOf(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNIT_MS[unit === 'd' ? 'd' : 'h'];
}

function olderThan(text: string): number {
  const span = spanOf(text);
  if (span === undefined) throw new UsageError('--older-than: must be days or hours, such as 90d or 12h');
  return span;
}

function expiryOf(text: string): Date | number {
  const span = spanOf(text);
  if (span !== undefined) return span;
  const { data } = KEY.expiresAt.safeParse(text);
  if (!data) throw new UsageError('--expires: must be days or hours, such as 90d or 12h, or an ISO 8601 date and time');
  return data;
}

function labelOf(text: string): string {
  const { data, error } = KEY.name.safeParse(text);
  if (error) throw new UsageError(`--name: ${error.issues[0]?.message}`);
  return data;
}

function isSlug(text: string): boolean {
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text) && text.length <= 100;
}

function required(value: string | undefined, name: string): string {
  if (!value) throw new UsageError(`${name}: is required`);
  return value;
}

function oneOf<const Value extends string>(allowed: readonly Value[], value: string, name: string): Value {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new UsageError(`${name}: must be one of ${allowed.join(', ')}`);
  return found;
}
