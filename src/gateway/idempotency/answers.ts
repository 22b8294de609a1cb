import type { Logger } from 'pino';
import { ConflictError } from '../../core/errors.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';
import { ERASED } from '../../core/stored-answers.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { placeOfAnswer } from './entity.ts';
import { type KeyPlace, keepAnswer } from './queries.ts';
import type { AnsweredRequest } from './standing-rights.ts';

export interface Answered {
  readonly text: string;
  readonly isReplayed: boolean;
  /** The object that the replayed request has changed; undefined when it was none or several. */
  readonly changed?: { readonly type: string; readonly id: string } | undefined;
}

/** The operation and the changed object, for the checks before a replay. */
export type Change = Pick<AnsweredRequest, 'operation' | 'targetType' | 'targetId'>;

export interface AnswerParts {
  readonly secrets: SecretBox;
  readonly log: Pick<Logger, 'error'>;
}

/** An attempt, which `token` identifies, and what it has changed. */
interface Attempt {
  readonly place: KeyPlace;
  readonly token: string;
  readonly change: Change;
  readonly hasSessions?: boolean | undefined;
}

/** Stores the answer of an attempt, encrypted. */
export async function storeAnswer(
  { secrets }: AnswerParts,
  connection: Sql,
  { place, token, change, hasSessions = false }: Attempt,
  text: string,
): Promise<void> {
  const answer = await secrets.seal(text, placeOfAnswer(place.userId, place.digest));
  await connection.all(keepAnswer({ ...place, ...change, hasSessions, claim: token, answer }));
}

/** Decrypts a stored answer. @throws ConflictError (409) when its encryption key is no longer known. */
export async function openAnswer(
  { secrets, log }: AnswerParts,
  { userId, digest }: KeyPlace,
  answer: string,
): Promise<Answered> {
  if (answer === ERASED)
    throw new ConflictError(
      'WRONG_STATE',
      'Idempotency-Key: the request has succeeded, but its answer was erased with texts that it had',
    );
  try {
    return { text: await secrets.open(answer, placeOfAnswer(userId, digest)), isReplayed: true };
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    log.error({ err: error }, 'a stored answer cannot be decrypted');
    throw new ConflictError(
      'WRONG_STATE',
      'Idempotency-Key: the request has succeeded, but its answer can no longer be read',
    );
  }
}
