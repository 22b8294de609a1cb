/** Waiting times in milliseconds. Tests choose other values, so that no result depends on time passing. */
export interface Timing {
  /** Maximum time that a request waits until it is worked on. */
  readonly slotWaitMs: number;
  /** Interval in which live tails and subscriptions are polled: a lost notification delays events, but loses none. */
  readonly livePollMs: number;
  /** Maximum time that an append waits for earlier appends to its session. */
  readonly appendWaitMs: number;
  /** Maximum age of the answers of `/health/ready` and `/metrics`. */
  readonly recentMs: number;
  /** Maximum time in which a client of a WebSocket must send its API key. */
  readonly socketInitMs: number;
  /** Interval in which each job queue is polled. */
  readonly jobPollMs: number;
  /** How long an MCP server may be silent while it makes an answer. */
  readonly upstreamSilenceMs: number;
  /** Maximum time of an answer of an MCP server. */
  readonly upstreamTotalMs: number;
  /** Maximum time in which an MCP server lists its tools for a session. */
  readonly upstreamListMs: number;
  /** Interval of the comments that keep a silent stream of an MCP server open. */
  readonly upstreamPingMs: number;
  /** Pause of the indexing of texts when there is nothing to index. */
  readonly indexPauseMs: number;
  /** Interval in which due webhooks are looked for. */
  readonly webhookPollMs: number;
  /** Maximum time of a request to a webhook. */
  readonly webhookTimeoutMs: number;
  /** Maximum time that a stop waits until traces are sent. */
  readonly traceFlushMs: number;
}

export const DEFAULT_TIMING: Timing = {
  slotWaitMs: 5_000,
  livePollMs: 5_000,
  appendWaitMs: 10_000,
  recentMs: 1_000,
  socketInitMs: 3_000,
  jobPollMs: 2_000,
  upstreamSilenceMs: 60_000,
  upstreamTotalMs: 600_000,
  upstreamListMs: 10_000,
  upstreamPingMs: 15_000,
  indexPauseMs: 1_000,
  webhookPollMs: 1_000,
  webhookTimeoutMs: 15_000,
  traceFlushMs: 2_000,
};
