import { stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { recordAudit } from './core/audit.ts';
import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS, readConfig } from './core/config.ts';
import { migrate } from './core/database.ts';
import { DomainError } from './core/errors.ts';
import { ROLES, SCOPES, operatorEntry } from './core/operation.ts';
import { createProgress } from './core/progress.ts';
import { rotateSecrets } from './core/secret-store.ts';
import { ApiKey, apiKeyTopic } from './domains/api-keys/entity.ts';
import { Organization } from './domains/organizations/entity.ts';
import { findOperator, importSessionEvents } from './domains/session-events/import.ts';
import { assemble } from './gateway/assemble.ts';
import { createDemoWorkspace, createKeyFor } from './gateway/demo.ts';
import { type Dependencies, operationContext } from './gateway/dependencies.ts';
import { rotateAnswers } from './gateway/idempotency-upkeep.ts';
import { createLog } from './gateway/logging.ts';

const USAGE = `Usage: npm run --silent cli -- <command>

  migrate                                      bring the database up to this version
  keys create --email E --organization SLUG    issue an API key; creates user and organization when absent
       [--role ${ROLES.join('|')}] [--scope S]...
  keys revoke ID                               revoke an API key
  subscriptions set --organization SLUG        change what an organization has subscribed to
       --family ${PRODUCT_FAMILIES.join('|')}
       --level ${SUBSCRIPTION_LEVELS.join('|')}
  events import --session ID FILE.ndjson       append the events of a file to a session; run again, it goes on where it was
  secrets rotate                               encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS
  seed                                         create the demo workspace in an empty database
`;

/** What an operator did wrong; its message is printed alone. */
class UsageError extends Error {}

type Command = (dependencies: Dependencies, args: string[]) => Promise<unknown>;

const COMMANDS: Readonly<Record<string, Command>> = {
  migrate: async (_, args) => {
    parse(args, {});
    return { migrated: true };
  },
  'keys create': async (dependencies, args) => {
    const { values } = parse(args, {
      email: { type: 'string' },
      organization: { type: 'string' },
      role: { type: 'string' },
      scope: { type: 'string', multiple: true },
    });
    const email = required(values.email, '--email');
    const organization = required(values.organization, '--organization');
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('--email: must be an e-mail address');
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(organization) || organization.length > 100) {
      throw new UsageError(
        '--organization: must be a slug: lowercase letters and digits in groups joined by single hyphens, at most 100 characters',
      );
    }
    return createKeyFor(dependencies, {
      email,
      organization,
      role: values.role === undefined ? undefined : oneOf(ROLES, values.role, '--role'),
      scopes: values.scope?.map((scope) => oneOf(SCOPES, scope, '--scope')),
    });
  },
  'keys revoke': async ({ database, notifier, now, newId }, args) => {
    const id = required(parse(args, {}, 1).positionals[0], 'ID');
    if (!z.guid().safeParse(id).success) throw new UsageError('ID: must be the id of an API key');
    await database.em.fork().transactional(async (em) => {
      const key = await em.findOne(ApiKey, { id, revokedAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!key) throw new UsageError('API key not found, or revoked already');
      key.revoke(now());
      const target = { type: 'ApiKey', id: key.id, organizationId: key.organization?.id };
      await recordAudit(em, operatorEntry({ now, newId }, 'revokeApiKey', target));
    });
    notifier.publish(apiKeyTopic(id.toLowerCase()));
    return { deleted: true, id };
  },
  'subscriptions set': async ({ database, now, newId }, args) => {
    const { values } = parse(args, {
      organization: { type: 'string' },
      family: { type: 'string' },
      level: { type: 'string' },
    });
    const slug = required(values.organization, '--organization');
    const family = oneOf(PRODUCT_FAMILIES, required(values.family, '--family'), '--family');
    const level = oneOf(SUBSCRIPTION_LEVELS, required(values.level, '--level'), '--level');
    return database.em.fork().transactional(async (em) => {
      const organization = await em.findOne(Organization, { slug });
      if (!organization) throw new UsageError(`organization ${slug} not found`);
      organization.subscriptions = { ...organization.subscriptions, [family]: level };
      organization.updatedAt = now();
      const target = { type: 'Organization', id: organization.id, organizationId: organization.id };
      await recordAudit(em, operatorEntry({ now, newId }, 'setSubscription', target));
      return { organizationId: organization.id, subscriptions: organization.subscriptions };
    });
  },
  'events import': async (dependencies, args) => {
    const { values, positionals } = parse(args, { session: { type: 'string' } }, 1);
    const sessionId = required(values.session, '--session').toLowerCase();
    const path = required(positionals[0], 'FILE');
    if (!z.uuid().safeParse(sessionId).success) throw new UsageError('--session: must be the id of a session');
    return importEvents(dependencies, sessionId, path);
  },
  'secrets rotate': async ({ database, secrets, now, newId }, args) => {
    parse(args, {});
    const rotated = await rotateSecrets(database.em, secrets);
    const answers = await rotateAnswers(database.em, secrets);
    await recordAudit(database.em.fork(), operatorEntry({ now, newId }, 'rotateSecrets', { type: 'Secret', id: null }));
    return { rotated, answers, keyId: secrets.currentKeyId };
  },
  seed: async (dependencies, args) => {
    parse(args, {});
    return (await createDemoWorkspace(dependencies)) ?? { seeded: false, reason: 'the database is not empty' };
  },
};

async function importEvents(dependencies: Dependencies, sessionId: string, path: string): Promise<object> {
  const actor = await findOperator(dependencies.sql, sessionId);
  if (!actor) throw new UsageError('--session: session not found');
  const file = await stat(path).catch(() => undefined);
  if (!file?.isFile()) throw new UsageError(`FILE: ${path} is not a file`);
  const bar = createProgress(process.stderr, file.size);
  let latest = { bytes: 0, imported: 0, skipped: 0 };
  const note = () => `${latest.imported} imported, ${latest.skipped} skipped`;
  try {
    const context = operationContext(dependencies, actor, 'command-line');
    return await importSessionEvents(context, {
      sessionId,
      path,
      onProgress: (progress) => bar.update((latest = progress).bytes, note()),
    });
  } catch (error) {
    throw error instanceof DomainError ? new UsageError(`${path}: ${error.message}`, { cause: error }) : error;
  } finally {
    bar.end(latest.bytes, note());
  }
}

type ParsedOptions = NonNullable<Parameters<typeof parseArgs>[0]>['options'];

function parse<const Options extends ParsedOptions>(args: string[], options: Options, maxPositionals = 0) {
  const parsed = strictly(() => parseArgs({ args, options, allowPositionals: true, strict: true }));
  const unexpected = parsed.positionals[maxPositionals];
  if (unexpected !== undefined) throw new UsageError(`unexpected argument '${unexpected}'`);
  return parsed;
}

/** Of what Node says about wrong options, the first sentence is enough. */
function strictly<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.split('. ')[0] : String(error), { cause: error });
  }
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

async function main(args: string[]): Promise<void> {
  if (args[0] === '--help' || args[0] === 'help') {
    process.stdout.write(USAGE);
    return;
  }
  const name = [args.slice(0, 2).join(' '), args[0] ?? ''].find((candidate) => Object.hasOwn(COMMANDS, candidate));
  const command = name === undefined ? undefined : COMMANDS[name];
  if (args.length === 0) throw new UsageError(USAGE.trimEnd());
  if (name === undefined || !command)
    throw new UsageError(`unknown command '${args.slice(0, 2).join(' ')}'; --help lists them`);
  const config = readConfig(process.env);
  // Standard output is for the answer alone.
  const assembly = await assemble(config, createLog('silent'), { joinRunning: true });
  try {
    await migrate(assembly.dependencies.database);
    const result = await command(assembly.dependencies, args.slice(name.split(' ').length));
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await assembly.close();
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
