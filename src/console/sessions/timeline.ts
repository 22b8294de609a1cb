import type { Answers } from '../generated/operation-types.ts';

/** Entries of a session as rows: messages, tool calls with their results, and notes. */

export type Entry = Answers['FollowSession']['sessionEntries']['entries'][number];

interface Item {
  /** The first event of the item, which its link and its label name. */
  readonly id: number;
  readonly lastId: number;
  readonly turn: number;
  readonly at: string;
  /** Who speaks. */
  readonly speaker: string;
  /** The subagent whose item it is: the id of the call that started it. */
  readonly subagentId: string | null;
  /** Whether a text is longer than what was loaded. */
  readonly isCut: boolean;
}

export interface Message extends Item {
  readonly kind: 'message';
  readonly text: string;
  readonly isThinking: boolean;
  readonly isFinal: boolean;
}

export interface ToolCall extends Item {
  readonly kind: 'tool';
  readonly name: string;
  readonly input: string;
  readonly inputIsCut: boolean;
  readonly output: string;
  readonly exitCode: number | null;
  /** From the call to its result; null while it runs. */
  readonly durationMs: number | null;
  readonly isOpen: boolean;
  readonly isError: boolean;
  /** The subagent that it has started. */
  readonly startedId: string | null;
}

export interface Note extends Item {
  readonly kind: 'note';
  readonly text: string;
  readonly isError: boolean;
}

export type TimelineItem = Message | ToolCall | Note;

/** Longer texts are cut in the answer, and loaded when the reader asks for them. */
export const MAX_TEXT = 10_000;

/** A text of this length has been cut, unless it happens to end there. */
const isCut = (text: string) => text.length >= MAX_TEXT;

const items = new WeakMap<Entry, TimelineItem>();

/** The row of an entry: the same object for the same entry, so that it is not drawn again. */
export function itemOf(entry: Entry): TimelineItem {
  let item = items.get(entry);
  if (!item) items.set(entry, (item = madeOf(entry)));
  return item;
}

const SPEAKERS = {
  UserMessage: 'User',
  AgentMessage: 'Agent',
  Thinking: 'Agent',
  ToolCall: 'Tool',
  SessionNote: 'System',
};

function madeOf(entry: Entry): TimelineItem {
  const { __typename: type, databaseId, lastEventId, turn, startedAt: at, isFailed: isError, subagent } = entry;
  const subagentId = subagent ? subagent.databaseId : null;
  const speaker = SPEAKERS[type] === 'Agent' && subagentId !== null ? 'Subagent' : SPEAKERS[type];
  const shared = { id: Number(databaseId), lastId: Number(lastEventId), turn, at, speaker, subagentId };
  if (entry.__typename === 'ToolCall') {
    const { toolName: name, input, exitCode, durationMs, isOpen, startedSubagent } = entry;
    const output = unwrapped(entry.output);
    return {
      ...shared,
      kind: 'tool',
      name,
      input,
      inputIsCut: isCut(input),
      output,
      exitCode,
      durationMs,
      isOpen,
      isError,
      startedId: startedSubagent ? startedSubagent.databaseId : null,
      isCut: isCut(input) || isCut(output),
    };
  }
  const { text } = entry;
  if (entry.__typename === 'SessionNote') return { ...shared, kind: 'note', text, isError, isCut: isCut(text) };
  const isFinal = entry.__typename === 'AgentMessage' && entry.isFinal;
  return { ...shared, kind: 'message', text, isThinking: type === 'Thinking', isFinal, isCut: isCut(text) };
}

/** Tags with which agents mark what kind of output a text is, such as `<tool_use_error>`; the item says that itself. */
const WRAPPER = /^\s*<((?:[a-z]+[_-])*(?:error|output|result|stderr|stdout))>\n?(.*?)\n?<\/\1>\s*$/is;

const unwrapped = (text: string): string => WRAPPER.exec(text)?.[2] ?? text;
