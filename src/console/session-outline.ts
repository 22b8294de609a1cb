import { query } from './api.ts';
import type { Answers } from './operation-types.ts';
import { addSessionStyle } from './session-style.ts';

/** Reads what happens in a session, part by part, and goes on after its last event. */

type Part = NonNullable<NonNullable<Answers['SessionOutline']['session']>['outline']>;
export type Mark = Part['marks'][number];
export type Entry = Part['entries'][number];
export type Tool = Part['tools'][number];

export type Outline = Pick<Part, 'marks' | 'entries' | 'tools' | 'models'> & {
  readonly lastId: number;
  /** Whether all events have been read. */
  readonly isComplete: boolean;
};

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
      const { data } = await query('SessionOutline', { id, after: String(outline.lastId) }, { signal });
      const part = data?.session?.outline;
      if (signal.aborted) return;
      isWanted = part?.hasMore ?? false;
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

function joined(outline: Outline, part: Part): Outline {
  const known = new Set(outline.entries.map(({ eventId }) => eventId));
  const entries = [...outline.entries, ...part.entries.filter(({ eventId }) => !known.has(eventId))];
  return {
    marks: halved([...outline.marks, ...part.marks]),
    entries: entries.slice(0, MAX_ENTRIES),
    tools: part.tools.reduce(withTool, outline.tools),
    models: [...new Set([...outline.models, ...part.models])],
    lastId: Number(part.lastId),
    isComplete: !part.hasMore,
  };
}

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
export function sumOf(marks: readonly Mark[]): Mark {
  return marks.reduce(plus);
}

function plus(one: Mark, other: Mark): Mark {
  return {
    ...one,
    messages: one.messages + other.messages,
    toolCalls: one.toolCalls + other.toolCalls,
    failures: one.failures + other.failures,
    failureId: one.failureId ?? other.failureId,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    costUsd: one.costUsd + other.costUsd,
  };
}
