import type { VNode } from 'preact';
import { durationOf } from '../parts/amounts.ts';
import { type DiffLine, type Edit, editsOf, isPatch, patchLines } from './file-diffs.ts';
import { jsonOf } from './event-content.ts';
import { MessageText } from './message-text.tsx';
import { Badge } from '../parts/parts.tsx';
import type { Message, Note, TimelineItem, ToolCall } from './timeline.ts';
import { Pictures } from './session-picture.tsx';
import { WholeText } from './recorded-event.tsx';

/** What formats of agents write in place of a picture. */
const HAS_PICTURE = /\[(?:image|input_image)\b[^\]\n]{0,200}\]/;

/** What a timeline shows of an item. */
export function bodyOf(item: TimelineItem, sessionId: string) {
  const { id, lastId, kind } = item;
  const rest = (
    <>
      {item.isCut && <WholeText sessionId={sessionId} entryId={id} />}
      {HAS_PICTURE.test(item.kind === 'tool' ? item.output : item.text) && (
        <Pictures sessionId={sessionId} eventId={kind === 'tool' ? lastId : id} isOfCall={kind === 'tool'} />
      )}
    </>
  );
  if (item.kind === 'tool') return toolBody(item, rest);
  return (
    <>
      {item.kind === 'note' ? noteBody(item) : messageBody(item)}
      {rest}
    </>
  );
}

const messageBody = (message: Message) =>
  message.isThinking ? thinking(message) : <MessageText text={message.text} />;

/** Folded, with its first line. */
function thinking({ text }: Message) {
  const first = firstLine(text);
  return (
    <details class="thinking">
      <summary>
        <span class="fold">Thinking</span> <span class="tool-input">{first}</span>
      </summary>
      <p class="text">{text}</p>
    </details>
  );
}

const noteBody = ({ text, isError }: Note) => <p class={isError ? 'text fault' : 'text note'}>{text}</p>;

/** Length of a text that fits into one line at any width. */
const SHORT = 30;
/** Changes of at most this many lines are shown without a click. */
const SMALL_EDIT = 40;
/** A longer output of a failed call is shown like that of others. */
const MAX_REASON = 300;

function toolBody(item: ToolCall, rest: VNode) {
  const { name, input, output, exitCode, isError, isOpen, durationMs } = item;
  const took = durationMs ?? 0;
  const error = isError && output !== '' && output.length <= MAX_REASON && !output.includes('\n') ? output : null;
  const edits = editsOf(name, input);
  const changed = edits.reduce((sum, { lines }) => sum + lines.length, 0);
  const pretty = prettyOf(input);
  const summary = summaryOf(input, edits);
  const isInSummary = pretty === summary && pretty.length <= SHORT;
  return (
    <details class="tool" open={isError || (changed > 0 && changed <= SMALL_EDIT)}>
      <summary>
        <code class="tool-name">{name}</code>
        <span class="tool-input">{summary}</span>
        {took > 0 && (
          <span class="soft" title="From the call to its result">
            {durationOf(took)}
          </span>
        )}
        <Badge value={isOpen ? 'RUNNING' : isError ? 'FAILED' : 'COMPLETED'} />
      </summary>
      {error !== null && <p class="fault">{error}</p>}
      {exitCode !== null && exitCode !== 0 && !error?.includes(String(exitCode)) && (
        <p class="soft">Exit code {exitCode}</p>
      )}
      {changed > 0
        ? edits.map(Changes)
        : pretty !== '' &&
          !isInSummary && (
            <pre tabindex={0} aria-label="Input">
              {pretty}
            </pre>
          )}
      {output !== '' &&
        output !== error &&
        (isPatch(output) ? (
          Changes({ path: '', lines: patchLines(output) })
        ) : (
          <pre tabindex={0} aria-label="Output">
            {output}
          </pre>
        ))}
      {rest}
    </details>
  );
}

/** More lines would make the page slow. */
const MAX_LINES = 1000;

/** The changes of a file, with their signs, so that they can be told apart without colors. */
export function Changes({ path, lines }: Edit) {
  const label = path === '' ? 'Changes' : `Changes of ${path}`;
  const shownLines = lines.slice(0, MAX_LINES);
  const rest = lines.length - shownLines.length;
  return (
    <figure class="diff">
      {path !== '' && (
        <figcaption>
          <code>{path}</code>
        </figcaption>
      )}
      {lines.length > 0 && (
        <pre tabindex={0} aria-label={label}>
          {shownLines.map(({ sign, text }) => (
            <span class={LINES[sign]}>
              {sign}
              {text}
              {'\n'}
            </span>
          ))}
        </pre>
      )}
      {rest > 0 && <p class="soft">Only the first {MAX_LINES} lines are shown.</p>}
    </figure>
  );
}

const LINES: Readonly<Record<DiffLine['sign'], string>> = { '+': 'added', '-': 'removed', ' ': 'kept' };

/** A one-line summary of a tool's input: the changed files, or its values without braces. */
export function summaryOf(input: string, edits: readonly Edit[]): string {
  const paths = [...new Set(edits.map(({ path }) => path))].filter(Boolean);
  if (paths.length > 0) return paths.join(' ');
  return Object.entries(jsonOf(input) ?? { input })
    .map(([name, value]: [string, unknown], index) => {
      if (typeof value === 'string') return index === 0 ? value : `${name}: ${value}`;
      return `${name}: ${JSON.stringify(value)}`;
    })
    .join(' · ')
    .slice(0, 200);
}

/** The input of a tool in readable form: a single text as it is, several ones below their names, and anything else as JSON. */
function prettyOf(input: string): string {
  const value = jsonOf(input);
  if (!value) return input;
  const entries = Object.entries(value);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
    return JSON.stringify(value, null, 2);
  if (entries.length === 1) return entries[0]?.[1] ?? '';
  return entries.map(([name, text]) => (text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`)).join('\n');
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';
