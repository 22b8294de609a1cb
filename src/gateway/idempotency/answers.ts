import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { isObject } from '../../core/is-object.ts';
import { ConflictError } from '../../core/errors.ts';
import { isExactNumber } from '../../core/text/exact-json.ts';
import { WorkSlices } from '../../core/work-budget.ts';
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

/** SHA-256 of the JSON of a value with sorted properties. Other requests run meanwhile, because an input can have hundreds of thousands. */
export async function hash(value: unknown): Promise<string> {
  const digest = createHash('sha256');
  const slices = new WorkSlices();
  // What is left to write, the last first. Inputs can be nested too deeply for a function that calls itself.
  const left: (string | { readonly value: unknown })[] = [{ value }];
  let text = '';
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    text += typeof next === 'string' ? next : written(next.value, left);
    if (text.length < HASHED_AT_ONCE) continue;
    digest.update(text);
    text = '';
    if (slices.isOver()) await slices.pause();
  }
  return digest.update(text).digest('hex');
}

const HASHED_AT_ONCE = 16 * 1024;

/** The beginning of the JSON of a value; what follows is added to `left`. */
function written(value: unknown, left: (string | { readonly value: unknown })[]): string {
  if (Array.isArray(value)) {
    left.push(']');
    for (let index = value.length - 1; index >= 0; index -= 1) left.push({ value: value[index] }, index > 0 ? ',' : '');
    return '[';
  }
  if (!isObject(value) || isExactNumber(value) || 'toJSON' in value) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  left.push('}');
  for (const [index, name] of names.toSorted((a, b) => (a > b ? -1 : 1)).entries())
    left.push({ value: value[name] }, `${index < names.length - 1 ? ',' : ''}${JSON.stringify(name)}:`);
  return '{';
}

/** @throws ConflictError (409) when the stored answer belongs to another request. */
export function requireSameRequest(stored: { readonly fingerprint: string }, fingerprint: string): void {
  if (stored.fingerprint === fingerprint) return;
  throw new ConflictError(
    'WRONG_STATE',
    'Idempotency-Key: was used for another request; use a new key for each request, and the same key only to retry a request',
  );
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
