import { NotFoundError } from '../../core/errors.ts';
import type { NewAccount, PublicContext } from '../../core/http/route.ts';
import type { Database } from '../../core/postgres/connections.ts';
import { type Sql, sqlWithin } from '../../core/postgres/reading/sql.ts';
import { isFirstKeyInUse } from '../../domains/api-keys/replayed-keys.ts';
import { type Answered, type AnswerParts, hash, openAnswer, requireSameRequest, storeAnswer } from './answers.ts';
import { claimKey, findKeylessAnswer } from './queries.ts';

/** A write without a caller: its input has a credential that works once, and it creates an account with a first API key. */
export interface KeylessRequest {
  readonly context: PublicContext;
  readonly key: string;
  readonly operation: string;
  readonly input: unknown;
  /** The credential in the input. The idempotency key belongs to it, because there is no user yet. */
  readonly credential: string;
}

/** @returns the answer as text. Calls `onNewAccount`. */
export type KeylessWork = (context: PublicContext) => Promise<string>;

export interface KeylessParts extends AnswerParts {
  readonly database: Pick<Database, 'em'>;
  readonly sql: Sql;
  readonly now: () => Date;
  readonly newId: () => string;
}

/**
 * Runs `work` and stores its answer in one transaction. The credential works once, so a repeated request fails with NotFoundError (404): then the
 * stored answer is returned, if there is one.
 */
export async function runKeyless(
  parts: KeylessParts,
  request: KeylessRequest & { readonly digest: string },
  work: KeylessWork,
): Promise<Answered> {
  const fingerprint = hash([request.operation, request.input]);
  try {
    return await parts.database.em.fork().transactional(async (em) => {
      let account: NewAccount | undefined;
      const onNewAccount = (created: NewAccount) => void (account = created);
      const transaction = sqlWithin(em);
      const text = await work({ ...request.context, em, sql: transaction, onNewAccount });
      await keep(parts, transaction, { ...request, fingerprint, account }, text);
      return { text, isReplayed: false };
    });
  } catch (error) {
    const replayed = error instanceof NotFoundError && (await replay(parts, request.digest, fingerprint));
    if (!replayed) throw error;
    return replayed;
  }
}

interface Done {
  readonly operation: string;
  readonly digest: string;
  readonly fingerprint: string;
  readonly account: NewAccount | undefined;
}

async function keep(
  parts: KeylessParts,
  transaction: Sql,
  { operation, digest, fingerprint, account }: Done,
  text: string,
): Promise<void> {
  if (!account) throw new TypeError(`${operation} has created no account that its answer could belong to`);
  const { userId, organizationId, apiKeyId } = account;
  const [place, token, at] = [{ userId, digest }, parts.newId(), parts.now()];
  await transaction.all(
    claimKey({
      ...place,
      organizationId,
      fingerprint,
      scopes: [],
      role: null,
      claim: token,
      createdAt: at,
      expiresAt: at,
    }),
  );
  const change = { operation, targetType: 'ApiKey', targetId: apiKeyId };
  await storeAnswer(parts, transaction, { place, token, change }, text);
}

/** Undefined without a stored answer, and when its API key was revoked or its user has left the organization. */
async function replay(parts: KeylessParts, digest: string, fingerprint: string): Promise<Answered | undefined> {
  const stored = await parts.sql.first(findKeylessAnswer({ digest, at: parts.now().toISOString() }));
  if (!stored || !(await isFirstKeyInUse(parts.sql, stored))) return undefined;
  requireSameRequest(stored, fingerprint);
  return openAnswer(parts, { userId: stored.userId, digest }, stored.answer);
}
