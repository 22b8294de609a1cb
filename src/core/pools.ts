import { type AnswerMemory, createAnswerMemory, noRoom } from './answer-memory.ts';
import { type Bound, FairShares, type PoolObserver } from './fair-shares.ts';

/** What runs at once in a process, by kind. */
export interface Pools {
  readonly requests: FairShares;
  /** Calls of MCP servers, and whatever else waits for another server. */
  readonly calls: FairShares;
  /** Refreshes of tokens of MCP connections. */
  readonly refreshes: FairShares;
  /** Deliveries to webhooks. */
  readonly deliveries: FairShares;
  /** The memory of answers. */
  readonly answers: AnswerMemory;
}

const CALLS = 256;
/** A call can take minutes: slots remain for others, whatever one has. A list asks up to 100 servers. */
export const CALLS_OF_PERSON = 128;
const CALLS_OF_ORGANIZATION = 192;

/** The bound of all persons of an organization together. */
export const boundOfOrganization = (id: string): Bound => ({ name: `organization ${id}`, max: CALLS_OF_ORGANIZATION });
const REFRESHES = 32;
/** Half of them are kept for webhooks that answer. */
export const DELIVERIES = 64;

interface PoolsOptions {
  readonly requests: number;
  /** Bytes of answers, of the process and of a person. */
  readonly answerBytes: { readonly ofProcess: number; readonly ofPerson: number };
  readonly waitMs: number;
  readonly observer: PoolObserver;
}

export function createPools({ requests, answerBytes, waitMs, observer }: PoolsOptions): Pools {
  const pool = (name: string, slots: number) => new FairShares({ name, slots, waitMs, observer });
  return {
    requests: pool('requests', requests),
    calls: pool('calls', CALLS),
    refreshes: pool('refreshes', REFRESHES),
    deliveries: pool('deliveries', DELIVERIES),
    answers: createAnswerMemory(
      new FairShares({ name: 'answers', slots: answerBytes.ofProcess, waitMs, observer, refusal: noRoom }),
      answerBytes.ofPerson,
    ),
  };
}
