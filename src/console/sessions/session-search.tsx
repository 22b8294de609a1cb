import { useEffect } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { useSettled } from '../parts/filters.tsx';
import { usePages } from '../parts/hooks.ts';
import { LoadMore } from '../parts/load-more.tsx';
import { Empty, Faults, Loading } from '../parts/parts.tsx';
import { addSessionStyle } from './session-style.ts';
import { itemOf } from './timeline.ts';
import { TimelineItems } from './timeline-items.tsx';

interface FoundProps {
  readonly id: string;
  readonly text: string;
  readonly isErrorsOnly: boolean;
}

/** The entries of a session with a text, or that have failed. The link of each leads to its place in the timeline. */
export function FoundEvents({ id, text, isErrorsOnly }: FoundProps) {
  const settled = useSettled(text.trim());
  const filter = { ...(settled !== '' && { search: settled }), ...(isErrorsOnly && { isFailed: true }) };
  const list = usePages('SessionEntries', { id, first: 100, filter }, ({ session }) => session?.entries);
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
      <TimelineItems items={list.rows.map(itemOf)} sessionId={id} />
      {list.hasMore && <LoadMore label="More events" load={list.loadMore} />}
    </>
  );
}
