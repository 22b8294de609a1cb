/** How long operations wait, in milliseconds. Tests choose other values, so that no result depends on time passing. */
export interface Timing {
  /** How often what live tails and subscriptions follow is looked at without a notification: a lost one delays events, and loses none. */
  readonly livePollMs: number;
  /** How long an append waits for earlier appends to its session. */
  readonly appendWaitMs: number;
  /** How old the answers of `/health/ready` and `/metrics` may be. */
  readonly recentMs: number;
  /** How often each queue is looked at for jobs. */
  readonly jobPollMs: number;
}

export const DEFAULT_TIMING: Timing = { livePollMs: 5_000, appendWaitMs: 10_000, recentMs: 1_000, jobPollMs: 2_000 };
