import { parseArgs } from 'node:util';
import { z } from 'zod';
import { PRODUCT_FAMILIES, type ProductFamily, SUBSCRIPTION_LEVELS, type SubscriptionLevel } from '../core/config.ts';
import { ROLES, type Role, SCOPES, type Scope } from '../core/operation.ts';

export const USAGE = `Usage: npm run --silent cli -- <command>

  migrate                                      bring the database up to this version
  keys create --email E [--organization SLUG]  issue an API key; creates user and organization when absent. Without an
       [--role ${ROLES.join('|')}] [--scope S]...    organization the key is unbound: it acts in any organization of its user
  keys revoke ID                               revoke an API key
  subscriptions set --organization SLUG        change what an organization has subscribed to
       --family ${PRODUCT_FAMILIES.join('|')}
       --level ${SUBSCRIPTION_LEVELS.join('|')}
  events import --session ID FILE.ndjson       append the events of a file to a session; run again, it goes on where it was
  secrets rotate                               encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS
  seed                                         create the demo workspace in an empty database
`;

/** A mistake of the operator. The command line prints its message alone, without a stack. */
export class UsageError extends Error {}

export type Command =
  | { readonly name: 'migrate' | 'secrets rotate' | 'seed' }
  | {
      readonly name: 'keys create';
      readonly email: string;
      readonly organization?: string;
      readonly role?: Role;
      readonly scopes?: readonly Scope[];
    }
  | { readonly name: 'keys revoke'; readonly keyId: string }
  | {
      readonly name: 'subscriptions set';
      readonly organization: string;
      readonly family: ProductFamily;
      readonly level: SubscriptionLevel;
    }
  | { readonly name: 'events import'; readonly sessionId: string; readonly path: string };

const PARSERS: { readonly [Name in Command['name']]: (args: string[]) => Command } = {
  migrate: (args) => withoutOptions('migrate', args),
  'keys create': (args) => {
    const { values } = parse(args, {
      email: { type: 'string' },
      organization: { type: 'string' },
      role: { type: 'string' },
      scope: { type: 'string', multiple: true },
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
      throw new UsageError('--role: needs --organization, since it is the role in one');
    return {
      name: 'keys create',
      email,
      organization,
      role: values.role === undefined ? undefined : oneOf(ROLES, values.role, '--role'),
      scopes: values.scope?.map((scope) => oneOf(SCOPES, scope, '--scope')),
    };
  },
  'keys revoke': (args) => {
    const keyId = required(parse(args, {}, 1).positionals[0], 'ID');
    if (!z.guid().safeParse(keyId).success) throw new UsageError('ID: must be the id of an API key');
    return { name: 'keys revoke', keyId };
  },
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
    const { values, positionals } = parse(args, { session: { type: 'string' } }, 1);
    const sessionId = required(values.session, '--session').toLowerCase();
    const path = required(positionals[0], 'FILE');
    if (!z.uuid().safeParse(sessionId).success) throw new UsageError('--session: must be the id of a session');
    return { name: 'events import', sessionId, path };
  },
  'secrets rotate': (args) => withoutOptions('secrets rotate', args),
  seed: (args) => withoutOptions('seed', args),
};

/**
 * The command that the arguments of the command line name.
 * @throws UsageError when there is none, or when its arguments are wrong.
 */
export function parseCommandLine(args: readonly string[]): Command | { readonly name: 'help' } {
  const [first = '', second = ''] = args;
  if (args.length === 0) throw new UsageError(USAGE.trimEnd());
  if (first === '--help' || first === 'help') return { name: 'help' };
  const name = [`${first} ${second}`, first].find(isCommandName);
  if (!name) throw new UsageError(`unknown command '${args.slice(0, 2).join(' ')}'; --help lists them`);
  return PARSERS[name](args.slice(name.split(' ').length));
}

function isCommandName(text: string): text is Command['name'] {
  return Object.hasOwn(PARSERS, text);
}

function withoutOptions(name: 'migrate' | 'secrets rotate' | 'seed', args: string[]): Command {
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

/** Reports wrong options with the first sentence of Node's message; the rest is advice about `--`. */
function strictly<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.split('. ')[0] : String(error), { cause: error });
  }
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
