import { useState } from 'preact/hooks';
import { memo } from '../parts/memo.ts';
import { RedactEventsButton } from './redaction.tsx';
import { bodyOf } from './timeline-body.tsx';
import type { TimelineItem } from './timeline.ts';
import { EventJson } from './recorded-event.tsx';

interface RowProps {
  readonly item: TimelineItem;
  readonly sessionId: string;
  readonly isWanted: boolean;
  /** The tool call that started the subagent, if it is loaded. */
  readonly parentId: number | undefined;
  readonly parentName: string | undefined;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' });

/** The local day of an item. */
export const dayOf = ({ at }: TimelineItem): string => date.format(new Date(at));

export const isSameDay = (item: TimelineItem, other: TimelineItem | undefined): boolean =>
  other !== undefined && new Date(item.at).toDateString() === new Date(other.at).toDateString();

export const TimelineRow = memo(function Row(props: RowProps) {
  const { item, sessionId, isWanted, parentId, parentName } = props;
  const [isOpen, setOpen] = useState(false);
  const isError = item.kind !== 'message' && item.isError;
  const speaker = `by-${item.speaker.toLowerCase().replaceAll(/\W+/g, '-')}`;
  const classes = [
    'item',
    item.kind,
    speaker,
    isError && 'error',
    isWanted && 'wanted',
    item.subagentId !== null && 'delegated',
  ];
  return (
    <li id={`event-${item.id}`} class={classes.filter(Boolean).join(' ')} data-last={item.lastId}>
      <div class="item-head">
        <span class="speaker">{item.speaker}</span>
        {item.subagentId !== null && item.speaker !== 'Subagent' && <span class="scope">subagent</span>}
        {parentId !== undefined && (
          <a class="scope" href={`/sessions/${sessionId}#event-${parentId}`}>
            {parentName}
          </a>
        )}
        {item.kind === 'message' && item.isFinal && <span class="scope final">final answer</span>}
        <span class="item-place">
          <a
            class="anchor"
            href={`/sessions/${sessionId}#event-${item.id}`}
            title={`${dayOf(item)}. This link leads to event ${item.id}.`}
          >
            <time datetime={item.at}>{clock.format(new Date(item.at))}</time>
          </a>{' '}
          <button class="link" onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
            event {item.id}
          </button>
        </span>
      </div>
      <div class="item-body">
        {shown(item, sessionId)}
        {isOpen && (
          <>
            <EventJson sessionId={sessionId} entryId={item.id} />
            <RedactEventsButton sessionId={sessionId} items={[item]} />
          </>
        )}
      </div>
    </li>
  );
});

/** An item that cannot be shown must not hide the others: its event can still be opened. */
function shown(item: TimelineItem, sessionId: string) {
  try {
    return bodyOf(item, sessionId);
  } catch {
    return <p class="note">This event cannot be shown. Open it by its number.</p>;
  }
}
