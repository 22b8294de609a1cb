import { useEffect, useMemo } from 'preact/hooks';
import type { TimelineEvent } from './event-content.ts';
import { counted } from '../parts/amounts.ts';
import { useSettled } from '../parts/filters.tsx';
import { usePages, useQuery } from '../parts/hooks.ts';
import { LoadMore } from '../parts/load-more.tsx';
import { Empty, Faults, Loading } from '../parts/parts.tsx';
import { addSessionStyle } from './session-style.ts';
import { withEvents } from './timeline.ts';
import { TimelineItems, useItems } from './timeline-items.tsx';

/** More calls are not completed, and more of their events neither. */
const MAX_CALLS = 100;
const MAX_PARTS = 500;

/** The found events, and of each tool call the events that were not found: a result says little without its call. */
function useWholeCalls(id: string, found: readonly TimelineEvent[]): readonly TimelineEvent[] {
  const itemIds = useMemo(
    () =>
      withEvents([], found)
        .flatMap((item) => (item.kind === 'tool' && item.callId !== null ? [item.callId] : []))
        .slice(0, MAX_CALLS),
    [found],
  );
  const { data } = useQuery('SessionEvents', { id, first: MAX_PARTS, filter: { itemIds } });
  const others = data?.sessionEvents?.nodes;
  return useMemo(() => {
    const whole = new Map([...found, ...(others ?? [])].map((event) => [event.databaseId, event]));
    return [...whole.values()].toSorted((one, other) => one.databaseId - other.databaseId);
  }, [found, others]);
}

interface FoundProps {
  readonly id: string;
  readonly text: string;
  readonly isErrorsOnly: boolean;
}

/** The events of a session with a text, or that report errors. The link of each leads to its place in the timeline. */
export function FoundEvents({ id, text, isErrorsOnly }: FoundProps) {
  const settled = useSettled(text.trim());
  const filter = { ...(settled !== '' && { text: settled }), ...(isErrorsOnly && { isError: true }) };
  const list = usePages('SessionEvents', { id, first: 100, filter }, ({ sessionEvents }) => sessionEvents);
  const items = useItems(useWholeCalls(id, list.rows));
  useEffect(addSessionStyle, []);
  if (list.rows.length === 0 && list.isLoading) return <Loading />;
  if (list.faults.length > 0) return <Faults faults={list.faults} />;
  if (list.rows.length === 0)
    return settled === '' ? (
      <Empty>No event reports an error.</Empty>
    ) : (
      <Empty>No event has this text. Events are found some seconds after they were recorded.</Empty>
    );
  return (
    <>
      <p class="soft" role="status">
        {counted(list.rows.length, 'event')}
        {list.hasMore ? ' or more' : ''} found. The time of each leads to its place in the timeline.
      </p>
      <TimelineItems items={items} sessionId={id} />
      {list.hasMore && <LoadMore label="More events" load={list.loadMore} />}
    </>
  );
}
