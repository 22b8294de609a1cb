/**
 * Prints a generated run of a coding agent, one event per line (NDJSON), to import, page and follow.
 *
 *   node_modules/.bin/node docs/examples/make-agent-run.ts [events = 3000] [seed = 1] > run.ndjson
 *   npm run --silent cli -- events import --session <id> run.ndjson
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AgentEvent, MIN_EVENTS, agentRun } from '../../test/support/agent-run.ts';

function* linesOf(events: Iterable<AgentEvent>): Generator<string, void, undefined> {
  for (const event of events) yield `${JSON.stringify(event)}\n`;
}

/** The arguments of the command line; undefined if they are invalid. */
export function parseArguments(words: readonly string[]): { count: number; seed: number } | undefined {
  const [count = 3000, seed = 1] = words.map(Number);
  return Number.isSafeInteger(count) && count >= MIN_EVENTS && Number.isSafeInteger(seed) ? { count, seed } : undefined;
}

if (import.meta.main) {
  const asked = parseArguments(process.argv.slice(2));
  if (!asked) {
    process.stderr.write(
      `usage: node make-agent-run.ts [events, at least ${MIN_EVENTS}, default 3000] [seed, default 1]\n`,
    );
    process.exitCode = 1;
  } else {
    await pipeline(Readable.from(linesOf(agentRun(asked.count, asked.seed))), process.stdout).catch(
      (error: NodeJS.ErrnoException) => {
        // The reader has closed the output, as `head` does.
        if (error.code !== 'EPIPE') throw error;
      },
    );
  }
}
