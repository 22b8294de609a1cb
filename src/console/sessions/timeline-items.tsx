import { MarkedActions, useMarked } from './redaction.tsx';
import type { TimelineItem } from './timeline.ts';
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
    const parent = item.subagentId === null ? undefined : calls.get(item.subagentId);
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
    const before = items[index - 1];
    const isTurn = item.turn > 0 && item.turn !== before?.turn && item.subagentId === null;
    const turn = isTurn && (
      <li key={`turn ${item.turn} ${item.id}`} class="day turn">
        Turn {item.turn}
      </li>
    );
    const day = !isSameDay(item, before) && (
      <li key={`day ${item.id}`} class="day">
        {dayOf(item)}
      </li>
    );
    const actions = marked?.to === item.id && (
      <MarkedActions key="marked" sessionId={sessionId} marked={marked} items={items} />
    );
    return [day, turn, row, actions];
  });
  return <ol class="items">{rows}</ol>;
}

/** The tool calls that have started subagents, by these. */
const callsOf = (items: readonly TimelineItem[]): ReadonlyMap<string, TimelineItem & { readonly kind: 'tool' }> =>
  new Map(items.flatMap((item) => (item.kind === 'tool' && item.startedId !== null ? [[item.startedId, item]] : [])));
