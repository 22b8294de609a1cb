import { type EntryKind, MAX_JOINED } from './entry-fold.ts';
import { isLinePart, kindOf, plainMessage } from './event-kind.ts';
import { callInput, textIn } from './event-texts.ts';
import { objectOf } from './formats/format.ts';
import { separated } from './framing.ts';

/** The texts of an entry, from those of its events that have them. */

type Data = Readonly<Record<string, unknown>>;

export interface EntryContent {
  /** The text; of a call its input. */
  readonly text: string;
  readonly isTextCut: boolean;
  readonly output: string;
  readonly exitCode: number | null;
  readonly title: string | null;
}

/** @param parts the data of the events that have the text, in their order @param output of the event with the output of a call */
export function contentOf(kind: EntryKind, parts: readonly Data[], output: Data = {}): EntryContent {
  const result = objectOf(output['toolResult']);
  const joined = kind === 'note' ? parts.map(noteText).join('') : joinedText(kind, parts);
  // A whole text and a line are as long as their events.
  const isTextCut = joined.length > MAX_JOINED && !parts.slice(1).every(isLinePart);
  const text = isTextCut ? joined.slice(0, MAX_JOINED).toWellFormed() : joined;
  const exitCode = result['exitCode'] == null ? NaN : Number(result['exitCode']);
  return {
    text: kind === 'userMessage' ? separated(text).words : text,
    isTextCut,
    output: outputText(output),
    exitCode: Number.isInteger(exitCode) ? exitCode : null,
    title: [output, ...parts].map(({ title }) => textOf(title)).find((title) => title !== '') ?? null,
  };
}

function joinedText(kind: EntryKind, parts: readonly Data[]): string {
  let text = '';
  for (const data of parts) {
    const { whole, part } = kind === 'toolCall' ? callInput(data, false) : textIn(data);
    text = whole ?? text + part;
  }
  return text;
}

function outputText(data: Data): string {
  const { output, error } = objectOf(data['toolResult']);
  const said = textOf(output) || errorText(error);
  if (said !== '' || kindOf(data) !== 'result') return said;
  return textOf(data['accumulatedText']) || (plainMessage(data) ?? '');
}

const errorText = (error: unknown) => (typeof error === 'string' ? error : (textInside(error, 0) ?? ''));

/** What an event says to a person that is neither a message nor a call; else the name of the event. */
function noteText(data: Data): string {
  const { event, message } = objectOf(data['event']);
  return (
    textOf(data['accumulatedText']) ||
    (plainMessage(data) ?? (textIn(data).part || textInJson(message) || textInside(data, 0))) ||
    textOf(event) ||
    textOf(data['type'])
  );
}

function textInJson(message: unknown): string | undefined {
  try {
    return textInside(JSON.parse(textOf(message)), 0);
  } catch {
    return undefined;
  }
}

/** Members in which agents and runners write a text for people, the most specific first. */
const TEXT_MEMBERS = ['message', 'error', 'text', 'content', 'summary', 'description', 'reason', 'errors'];
const MAX_DEPTH = 3;
const MAX_TEXTS = 100;

function textInside(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(value)) {
    const texts = value.slice(0, MAX_TEXTS).flatMap((each: unknown) => textInside(each, depth + 1) ?? []);
    return texts.length === 0 ? undefined : texts.join('\n');
  }
  const members = objectOf(value);
  return TEXT_MEMBERS.map((name) => textInside(members[name], depth + 1)).find((text) => text !== undefined);
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
