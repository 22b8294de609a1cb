import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { FormButton } from '../parts/form-button.tsx';
import type { TimelineItem } from './timeline.ts';
import { RedactText, RedactEvents } from './redaction-forms.tsx';

/** Redaction in a timeline: of a marked text everywhere, and of entries. */

/** Called after a redaction. Undefined for readers who cannot redact. */
export const RedactionContext = createContext<(() => void) | undefined>(undefined);

interface TextProps {
  readonly sessionId: string;
  readonly onDone: () => void;
}

/** For texts that are typed or pasted, which needs no mouse. */
export const RedactTextButton = ({ sessionId, onDone }: TextProps) => (
  <FormButton label="Redact a text…" dialog={RedactText} props={{ sessionId, onDone, marked: '' }} />
);

interface EventsProps {
  readonly sessionId: string;
  readonly items: readonly TimelineItem[];
}

/** Redacts all events of some entries. */
export function RedactEventsButton({ sessionId, items }: EventsProps) {
  const onRedacted = useContext(RedactionContext);
  if (!onRedacted) return null;
  const entryIds = items.map(({ id }) => id);
  const label = items.length === 1 ? 'Redact this entry…' : `Redact these ${items.length} entries…`;
  const props = { sessionId, entryIds, onDone: onRedacted };
  return <FormButton label={label} dialog={RedactEvents} props={props} />;
}

/** What the reader has marked in a timeline: the first and the last row, and the text if it is in one row. */
export interface Marked {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const rowOf = (node: Node) =>
  (node instanceof Element ? node : node.parentElement)?.closest<HTMLElement>('.item[data-last]');
const idOf = (row: HTMLElement) => Number(row.id.replace('event-', ''));

function markedNow(): Marked | undefined {
  const selection = getSelection();
  const text = selection?.toString().trim() ?? '';
  if (!selection || selection.rangeCount === 0 || text === '') return undefined;
  const { startContainer, endContainer } = selection.getRangeAt(0);
  const [first, last] = [rowOf(startContainer), rowOf(endContainer)];
  if (!first || !last) return undefined;
  return { from: idOf(first), to: idOf(last), text: first === last ? text : '' };
}

/** What is marked, with the mouse or the keyboard. It stays while a dialog is open, whose fields have a selection too. */
export function useMarked(): Marked | undefined {
  const isOffered = useContext(RedactionContext) !== undefined;
  const [marked, setMarked] = useState<Marked>();
  useEffect(() => {
    if (!isOffered) return undefined;
    const changed = () => {
      if (!document.querySelector('dialog[open]')) setMarked(markedNow());
    };
    document.addEventListener('selectionchange', changed);
    return () => document.removeEventListener('selectionchange', changed);
  }, [isOffered]);
  return isOffered ? marked : undefined;
}

interface MarkedProps {
  readonly sessionId: string;
  readonly marked: Marked;
  readonly items: readonly TimelineItem[];
}

/** What can be redacted of what is marked. In the page it follows the last marked row, so that the keyboard reaches it next. */
export function MarkedActions({ sessionId, marked: { from, to, text }, items }: MarkedProps) {
  const onRedacted = useContext(RedactionContext);
  const props = { sessionId, marked: text, onDone: () => onRedacted?.() };
  // Pressing the button keeps what is marked.
  const keep = (event: Event) => event.preventDefault();
  return (
    <li class="marked-actions" onMouseDown={keep}>
      {text === '' ? (
        <RedactEventsButton sessionId={sessionId} items={items.filter(({ id }) => id >= from && id <= to)} />
      ) : (
        <FormButton label="Redact everywhere…" isPlain={false} dialog={RedactText} props={props} />
      )}
    </li>
  );
}
