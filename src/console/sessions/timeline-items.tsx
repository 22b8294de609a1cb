import { useRef } from 'preact/hooks';
import type { TimelineEvent } from './event-content.ts';
import { hasSameValues } from '../parts/memo.ts';
import { MarkedActions, useMarked } from './redaction.tsx';
import { type TimelineItem, withEvents } from './timeline.ts';
import { TimelineRow, dayOf, isSameDay } from './timeline-row.tsx';

interface ItemsProps {
  readonly items: readonly TimelineItem[];
  readonly sessionId: string;
  readonly wanted?: number;
}

/** The rows of a timeline, with a heading for each day. */
export function TimelineItems({ items, sessionId, wanted = 0 }: ItemsProps) {
  const calls = callsOf(items);
  const marked = useMarked();
  const rows = items.flatMap((item, index) => {
    const isWanted = wanted >= item.id && wanted <= item.lastId && wanted > 0;
    const parent = item.parentToolUseId === null ? undefined : calls.get(item.parentToolUseId);
    const row = (
      <TimelineRow
        key={item.id}
        item={item}
        sessionId={sessionId}
        isWanted={isWanted}
        parentId={parent?.id}
        parentName={parent?.name}
      />
    );
    const day = !isSameDay(item, items[index - 1]) && (
      <li key={`day ${item.id}`} class="day">
        {dayOf(item)}
      </li>
    );
    const actions = marked?.to === item.id && (
      <MarkedActions key="marked" sessionId={sessionId} marked={marked} items={items} />
    );
    return [day, row, actions];
  });
  return <ol class="items">{rows}</ol>;
}

/** The tool calls by their ids, which subagents name. */
const callsOf = (items: readonly TimelineItem[]): ReadonlyMap<string, TimelineItem & { readonly kind: 'tool' }> =>
  new Map(items.flatMap((item) => (item.kind === 'tool' && item.callId !== null ? [[item.callId, item]] : [])));

interface Made {
  readonly events: readonly TimelineEvent[];
  readonly items: TimelineItem[];
}

/** The timeline items of events. An item that stays as it was is the same object, so that its row is not drawn again. */
export function useItems(events: readonly TimelineEvent[]): readonly TimelineItem[] {
  const made = useRef<Made>({ events: [], items: [] });
  const { current: before } = made;
  if (events !== before.events) {
    const known = before.events.length;
    const isAppended = known > 0 && events[0] === before.events[0] && events[known - 1] === before.events[known - 1];
    const items = isAppended
      ? withEvents(before.items, events.slice(known))
      : unchanged(before.items, withEvents([], events));
    made.current = { events, items };
  }
  return made.current.items;
}

function unchanged(before: readonly TimelineItem[], items: readonly TimelineItem[]): TimelineItem[] {
  const known = new Map(before.map((item) => [item.id, item]));
  return items.map((item) => {
    const one = known.get(item.id);
    return one && hasSameValues<TimelineItem>(item, one) ? one : item;
  });
}
