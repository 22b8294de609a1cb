/** What the gateway notices about the servers of MCP connections, for metrics and the log. */

/** Ways in which a server makes the gateway do more than it should, by name, with the text of the log line. */
export const MCP_PROBLEMS = {
  lifetime: 'issues tokens with a lifetime of less than 10 seconds, which are refreshed once in 10 seconds at most',
  refusal: 'refuses an access token that was issued a moment ago',
};
export type McpProblem = keyof typeof MCP_PROBLEMS;

export interface McpObserver {
  /** A request for new tokens has ended. */
  refreshEnded(outcome: 'refreshed' | 'refused' | 'failed'): void;
  problemFound(problem: McpProblem, server: { readonly connectionId: string; readonly host: string }): void;
}
