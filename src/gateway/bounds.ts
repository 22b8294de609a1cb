import { MAX_ANSWER_BYTES } from '../core/answer-size.ts';

/** What requests may take of one process. Tests choose smaller bounds. */
export interface Bounds {
  /** Bytes that the database may answer to a request. */
  readonly answerBytes: number;
  /** Bytes of answers that wait to be read, of a key and of all. */
  readonly unreadBytesOfKey: number;
  readonly unreadBytes: number;
  /** Live tails and subscriptions that are open, of a key and of an organization. */
  readonly tailsOfKey: number;
  readonly tailsOfOrganization: number;
  /** Requests a minute from one address without a valid key, of each kind. */
  readonly requestsOfClient: number;
}

/** Points that one GraphQL operation may cost. */
export const MAX_OPERATION_COST = 20_000;

const MIB = 1024 * 1024;

export const DEFAULT_BOUNDS: Bounds = {
  answerBytes: MAX_ANSWER_BYTES,
  unreadBytesOfKey: 64 * MIB,
  unreadBytes: 128 * MIB,
  tailsOfKey: 20,
  tailsOfOrganization: 200,
  requestsOfClient: 60,
};
