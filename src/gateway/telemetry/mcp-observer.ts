import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { MCP_PROBLEMS, type McpObserver } from '../../core/mcp-observer.ts';
import type { Metrics } from './metrics.ts';

const MAX_CONNECTIONS = 10_000;
/** A problem that lasts is logged again after this time. */
const LOG_INTERVAL_MS = 24 * 3_600_000;

/** Counts everything, and logs one line for each problem of a connection. */
export function createMcpObserver({ metrics, log }: { readonly metrics: Metrics; readonly log: Logger }): McpObserver {
  const logged = new LRUCache<string, true>({ max: MAX_CONNECTIONS, ttl: LOG_INTERVAL_MS });
  return {
    refreshEnded: (outcome) => metrics.mcpRefreshes.inc({ outcome }),
    problemFound: (problem, { connectionId, host }) => {
      metrics.mcpProblems.inc({ problem });
      const key = `${connectionId} ${problem}`;
      if (logged.has(key)) return;
      logged.set(key, true);
      log.warn({ connectionId, host, problem }, `${host} ${MCP_PROBLEMS[problem]}`);
    },
  };
}
