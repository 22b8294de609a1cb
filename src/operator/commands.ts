import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Readable, addAbortSignal } from 'node:stream';
import { recordAudit, operatorEntry } from '../core/audit.ts';
import { operatorIn } from '../core/access.ts';
import { DomainError } from '../core/errors.ts';
import { findOlderProcesses, finishUpgrade } from '../core/postgres/finished-version.ts';
import { planMigrations } from '../core/postgres/migrations.ts';
import { VERSION } from '../core/version.ts';
import { type ProgressStream, createProgress } from './progress.ts';
import { rotateColumn } from '../core/secrets/secret-store.ts';
import { extendApiKey, revokeAnyApiKey } from '../domains/api-keys/public.ts';
import { createSignInLink, unlinkIdentities } from '../domains/identities/public.ts';
import { setSubscription as setSubscriptionOf } from '../domains/organizations/public.ts';
import { findOperator, importSessionEvents, pruneSessionEvents } from '../domains/session-events/public.ts';
import { beginExport } from '../domains/organization-export/public.ts';
import { deleteUserByEmail } from '../domains/user-deletions/public.ts';
import { copyDatabase } from './database-copy.ts';
import { createDemoWorkspace } from './demo-workspace.ts';
import { issueKey } from './issue-key.ts';
import { findOrganization, listIdentities, listKeys, listOrganizations, listSessions, listUsers } from './lists.ts';
import { operationContext, workContext } from '../gateway/contexts.ts';
import { type Dependencies, publicUrlOf } from '../gateway/dependencies.ts';
import { SEALED_COLUMNS, onDirectDatabase } from '../gateway/prepare-database.ts';
import { ANSWER_COLUMN } from '../gateway/idempotency/entity.ts';
import { UsageError } from './command-arguments.ts';
import type { DatabaseCommand } from './command.ts';

type CommandOf<Name extends DatabaseCommand['name']> = Extract<DatabaseCommand, { name: Name }>;

export interface CommandStreams {
  /** Long commands print their progress here. */
  readonly progress: ProgressStream;
  readonly input?: Readable;
  /** Aborts when the operator interrupts the command. */
  readonly signal?: AbortSignal;
}

/** One object, or the rows of a list. */
export type CommandAnswer = object | AsyncIterable<object>;

/**
 * Runs a command on a migrated database, unless it {@link needsNoMigration}, and returns its answer.
 * @throws UsageError if the command refers to something that does not exist, or is not allowed.
 */
export async function runCommand(
  dependencies: Dependencies,
  command: DatabaseCommand,
  streams: CommandStreams,
): Promise<CommandAnswer> {
  const { sql, now } = dependencies;
  switch (command.name) {
    case 'migrate':
      if (command.isDryRun) return rowsOf(await onDirectDatabase(dependencies, planMigrations));
      return command.finishes ? finish(dependencies) : { migrated: true };
    case 'keys create': {
      const { name: _, label, expires, ...wanted } = command;
      return issueKey(dependencies, { ...wanted, name: label, expiresAt: expiryOf(expires, now()) }).catch(refuse);
    }
    case 'keys list':
      await requireOrganization(sql, command.organization);
      return listKeys(sql, { ...command, at: now() });
    case 'identities list':
      return listIdentities(sql, command.email);
    case 'identities unlink':
      return unlinkIdentities(workContext(dependencies), command.email).catch(refuse);
    case 'organizations list':
      return listOrganizations(sql);
    case 'organizations export':
      return exportOrganization(dependencies, command.organization);
    case 'users delete':
      return deleteUserByEmail(workContext(dependencies), command.email).catch(refuse);
    case 'users list':
      await requireOrganization(sql, command.organization);
      return listUsers(sql, command.organization);
    case 'sessions list':
      await requireOrganization(sql, command.organization);
      return listSessions(sql, command.organization);
    case 'keys revoke':
      return revokeKey(dependencies, command.keyId);
    case 'keys extend':
      return extendApiKey(workContext(dependencies), command).catch(refuse);
    case 'sign-in link':
      return createLink(dependencies, command.email);
    case 'subscriptions set':
      return setSubscription(dependencies, command);
    case 'events import':
      return importEvents(dependencies, command, streams);
    case 'events prune':
      return pruneEvents(dependencies, command, streams);
    case 'database copy':
      return copyDatabase(dependencies, command.to, streams);
    case 'secrets rotate':
      return rotate(dependencies);
    case 'seed':
      return (await createDemoWorkspace(dependencies)) ?? { seeded: false, reason: 'the database is not empty' };
    default:
      throw new Error('no such command', { cause: command satisfies never });
  }
}

/** Whether a command only looks at what a migration would do. */
export const needsNoMigration = (command: DatabaseCommand): boolean => command.name === 'migrate' && command.isDryRun;

async function* rowsOf(rows: readonly object[]): AsyncGenerator<object, void, undefined> {
  yield* rows;
}

async function finish({ database, config, now }: Dependencies): Promise<object> {
  const em = database.em.fork();
  const isPooled = config.DATABASE_POOLER !== undefined;
  const older = isPooled ? [] : await findOlderProcesses(em, { since: VERSION, isPooled });
  if (older.length > 0)
    throw new UsageError(`--finish: processes of an earlier version are connected: ${older.join(', ')}`);
  await finishUpgrade(em, now());
  return { finished: VERSION };
}

/** @throws UsageError if there is no such organization. */
async function requireOrganization(sql: Dependencies['sql'], slug: string | undefined): Promise<void> {
  if (slug !== undefined && !(await findOrganization(sql, slug)))
    throw new UsageError(`organization ${slug} not found`);
}

function expiryOf(expires: Date | number | undefined, at: Date): Date | undefined {
  const expiresAt = typeof expires === 'number' ? new Date(at.getTime() + expires) : expires;
  if (expiresAt && expiresAt <= at) throw new UsageError('--expires: must be in the future');
  return expiresAt;
}

async function revokeKey(dependencies: Dependencies, id: string): Promise<object> {
  await revokeAnyApiKey(workContext(dependencies), id).catch(refuse);
  return { deleted: true, id };
}

async function createLink(dependencies: Dependencies, email: string): Promise<object> {
  const { token, userId, expiresAt } = await createSignInLink(workContext(dependencies), email).catch(refuse);
  return { url: `${publicUrlOf(dependencies)}/sign-in?token=${token}`, userId, expiresAt };
}

async function setSubscription(
  dependencies: Dependencies,
  { organization: slug, family, level }: CommandOf<'subscriptions set'>,
): Promise<object> {
  const organization = await setSubscriptionOf(workContext(dependencies), { slug, family, level }).catch(refuse);
  return { organizationId: organization.id, subscriptions: organization.subscriptions };
}

async function exportOrganization(dependencies: Dependencies, slug: string): Promise<AsyncIterable<object>> {
  const organization = await findOrganization(dependencies.sql, slug);
  if (!organization) throw new UsageError(`organization ${slug} not found`);
  const context = operationContext(dependencies, operatorIn(organization), { requestId: 'command-line' });
  const { lines } = await beginExport(context, organization.id).catch(refuse);
  return flat(lines);
}

async function* flat(batches: AsyncIterable<readonly object[]>): AsyncGenerator<object, void, undefined> {
  for await (const batch of batches) yield* batch;
}

/** Converts a refusal of an operation to a mistake of the operator. */
function refuse(error: unknown): never {
  throw error instanceof DomainError ? new UsageError(error.message, { cause: error }) : error;
}

async function importEvents(
  dependencies: Dependencies,
  { sessionId, path, format, map }: CommandOf<'events import'>,
  { progress, input, signal }: CommandStreams,
): Promise<object> {
  const actor = await findOperator(dependencies.sql, sessionId);
  if (!actor) throw new UsageError('--session: session not found');
  const source = path === '-' ? { stream: input, size: undefined } : await openFile(path);
  if (!source.stream) throw new UsageError('FILE: standard input is not available');
  const stream = signal ? addAbortSignal(signal, source.stream) : source.stream;
  const bar = createProgress(progress, source.size);
  let latest = { bytes: 0, imported: 0, skipped: 0 };
  const note = () => `${latest.imported} imported, ${latest.skipped} skipped`;
  try {
    const context = operationContext(dependencies, actor, { requestId: 'command-line' });
    return await importSessionEvents(context, {
      sessionId,
      source: stream,
      format,
      map,
      onProgress: (reached) => bar.update((latest = reached).bytes, note()),
    });
  } catch (error) {
    if (signal?.aborted) throw new UsageError(resumeHint(path), { cause: error });
    throw error instanceof DomainError ? new UsageError(`${path}: ${error.message}`, { cause: error }) : error;
  } finally {
    bar.end(latest.bytes, note());
  }
}

async function pruneEvents(
  dependencies: Dependencies,
  { olderThanMs, sessionId, organization, isDryRun }: CommandOf<'events prune'>,
  { signal }: CommandStreams,
): Promise<object> {
  const context = workContext(dependencies);
  const before = olderThanMs === undefined ? undefined : new Date((await context.storedNow()).getTime() - olderThanMs);
  try {
    const pruned = await pruneSessionEvents(context, { before, sessionId, organization }, { isDryRun, signal });
    return { ...pruned, before: before?.toISOString() ?? null, isDryRun };
  } catch (error) {
    if (signal?.aborted) throw new UsageError('interrupted; run the same command again to continue', { cause: error });
    return refuse(error);
  }
}

async function openFile(path: string): Promise<{ stream: Readable; size: number }> {
  const file = await stat(path).catch(() => undefined);
  if (!file?.isFile()) throw new UsageError(`FILE: ${path} is not a file`);
  return { stream: createReadStream(path), size: file.size };
}

const resumeHint = (path: string): string =>
  path === '-'
    ? 'interrupted; run the same command with the same input again to continue after the stored events'
    : 'interrupted; run the same command again to continue after the stored events';

async function rotate({ database, secrets, now, newId }: Dependencies): Promise<object> {
  let rotated = 0;
  let answers = 0;
  for (const column of SEALED_COLUMNS) {
    const count = await rotateColumn(database.em, secrets, column);
    if (column === ANSWER_COLUMN) answers = count;
    else rotated += count;
  }
  const entry = operatorEntry({ now, newId }, 'rotateSecrets', { type: 'Secret', id: null });
  if (rotated + answers > 0) await recordAudit(database.em.fork(), entry);
  return { rotated, answers, keyId: secrets.currentKeyId };
}
