import { MAX_ANSWER_BYTES } from '../core/answer-size.ts';

/** Resource limits of requests in one process. Tests use smaller ones. */
export interface Bounds {
  /** Maximum number of bytes of an answer, and of the data that the database sends for it. */
  readonly answerBytes: number;
  /** Maximum number of bytes of answers, from before their statements until clients have read them, for each person and for the process. */
  readonly unreadBytesOfUser: number;
  readonly unreadBytes: number;
  /** Maximum number of open live tails and subscriptions, for each key and for each organization. */
  readonly tailsOfKey: number;
  readonly tailsOfOrganization: number;
  /** Maximum number of open WebSockets of a client address, and of those among them whose key is not known yet. */
  readonly socketsOfClient: number;
  readonly waitingSocketsOfClient: number;
  /** Maximum number of bytes of messages of WebSockets that have not arrived completely, for each key and for the process. */
  readonly unfinishedBytesOfKey: number;
  readonly unfinishedBytes: number;
  /** Maximum number of open WebSockets of a key, and of operations that run at once on one of them. */
  readonly socketsOfKey: number;
  readonly operationsOfSocket: number;
  /** Maximum number of requests per minute without a valid key from one address, for each kind of request. */
  readonly requestsOfClient: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_BOUNDS: Bounds = {
  answerBytes: MAX_ANSWER_BYTES,
  unreadBytesOfUser: 16 * MIB,
  unreadBytes: 64 * MIB,
  tailsOfKey: 20,
  tailsOfOrganization: 200,
  socketsOfClient: 2_000,
  waitingSocketsOfClient: 100,
  unfinishedBytesOfKey: 16 * MIB,
  unfinishedBytes: 64 * MIB,
  socketsOfKey: 100,
  operationsOfSocket: 100,
  requestsOfClient: 60,
};

/** Maximum size of the answer of a write with an `Idempotency-Key` that is stored for a replay: a small request must not fill the database. Of a larger one, ids are stored. */
export const MAX_KEPT_BYTES = 256 * 1024;
