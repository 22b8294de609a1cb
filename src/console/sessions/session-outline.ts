import { query } from '../parts/api.ts';
import type { Answers } from '../generated/operation-types.ts';
import { addSessionStyle } from './session-style.ts';

/** Reads what happens in a session, in few large parts, and goes on after its last event. */

type Part = NonNullable<NonNullable<Answers['SessionOutline']['session']>['outline']>;
export type Mark = Part['marks'][number];
export type Entry = Part['entries'][number];
export type Tool = Part['tools'][number];

export type Outline = Pick<Part, 'marks' | 'entries' | 'tools' | 'models'> & {
  readonly lastId: number;
  /** Whether all events have been read. */
  readonly isComplete: boolean;
};

/** Its text, else the id of the subagent. */
export const nameOf = ({ text, subagentId }: Pick<Entry, 'text' | 'subagentId'>): string =>
  text || subagentId || 'Message without a text';

const NOTHING: Outline = { marks: [], entries: [], tools: [], models: [], lastId: 0, isComplete: false };

export interface OutlineReader {
  /** Reads the events that have been recorded since. */
  readonly readOn: () => void;
}

/** @param onChange is called after each part */
export function createOutlineReader(
  id: string,
  onChange: (outline: Outline) => void,
  signal: AbortSignal,
): OutlineReader {
  addSessionStyle();
  let outline = NOTHING;
  let [isReading, isWanted] = [false, false];
  const readAll = async () => {
    for (isReading = true; isWanted && !signal.aborted;) {
      // Whoever asks during a request wants what was recorded after it.
      isWanted = false;
      // What follows is small, and costs less.
      const name = outline.isComplete ? 'SessionOutlinePart' : 'SessionOutline';
      const { data } = await query(
        name,
        { id, after: String(outline.lastId) },
        { signal, isQuiet: outline.isComplete },
      );
      const part = data?.session?.outline;
      if (signal.aborted) return;
      isWanted ||= part?.hasMore ?? false;
      if (part) onChange((outline = joined(outline, part)));
    }
    isReading = false;
  };
  return {
    readOn: () => {
      isWanted = true;
      if (!isReading) void readAll();
    },
  };
}

/** More marks than a screen has pixels show nothing more. */
const MAX_MARKS = 4000;
const MAX_ENTRIES = 501;

const joined = (outline: Outline, part: Part): Outline => ({
  marks: halved([...outline.marks, ...part.marks]),
  entries: entriesWith(outline.entries, part).slice(0, MAX_ENTRIES),
  tools: part.tools.reduce(withTool, outline.tools),
  models: [...new Set([...outline.models, ...part.models])],
  lastId: Number(part.lastId),
  isComplete: !part.hasMore,
});

type Happened = Pick<Mark, 'toolCalls' | 'failures'>;

/** The last turn and subagents go on in the next part, which begins with what happens before its first turn. */
function entriesWith(known: readonly Entry[], part: Part): readonly Entry[] {
  const isTurn = ({ kind }: Entry) => kind === 'TURN';
  const ofSubagents = new Map(part.entries.map((entry) => [entry.subagentId, entry]));
  const turns = part.entries.filter(isTurn);
  const rest = (field: keyof Happened) => totalOf(part.marks, field) - totalOf(turns, field);
  const lastTurn = known.findLast(isTurn);
  const grown = known.map((entry) => {
    if (entry === lastTurn) return plusHappened(entry, { toolCalls: rest('toolCalls'), failures: rest('failures') });
    const more = isTurn(entry) ? undefined : ofSubagents.get(entry.subagentId);
    return more ? { ...plusHappened(entry, more), lastId: more.lastId, endedAt: more.endedAt } : entry;
  });
  const ids = new Set(known.map(({ subagentId }) => subagentId));
  return [...grown, ...part.entries.filter((entry) => isTurn(entry) || !ids.has(entry.subagentId))];
}

const plusHappened = (entry: Entry, { toolCalls, failures }: Happened): Entry => ({
  ...entry,
  toolCalls: entry.toolCalls + toolCalls,
  failures: entry.failures + failures,
});

const totalOf = (parts: readonly Happened[], field: keyof Happened) =>
  parts.reduce((sum, part) => sum + part[field], 0);

function withTool(tools: readonly Tool[], tool: Tool): readonly Tool[] {
  const known = tools.find(({ name }) => name === tool.name);
  if (!known) return [...tools, tool];
  const sum = {
    ...known,
    calls: known.calls + tool.calls,
    failures: known.failures + tool.failures,
    durationMs: known.durationMs + tool.durationMs,
    failureId: known.failureId ?? tool.failureId,
  };
  return tools.map((each) => (each === known ? sum : each));
}

function halved(marks: readonly Mark[]): readonly Mark[] {
  if (marks.length <= MAX_MARKS) return marks;
  return Array.from({ length: Math.ceil(marks.length / 2) }, (_, index) =>
    sumOf(marks.slice(2 * index, 2 * index + 2)),
  );
}

/** Neighbors as one. */
export const sumOf = (marks: readonly Mark[]): Mark => marks.reduce(plus);

const plus = (one: Mark, other: Mark): Mark => ({
  ...one,
  messages: one.messages + other.messages,
  toolCalls: one.toolCalls + other.toolCalls,
  failures: one.failures + other.failures,
  failureId: one.failureId ?? other.failureId,
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  costUsd: one.costUsd + other.costUsd,
});
