import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/amounts.ts';
import { useFilter } from '../parts/filters.tsx';
import { recordingCommand } from '../record/recording-command.ts';
import { LoadMore } from '../parts/load-more.tsx';
import { Empty, Faults, Loading, Waiting, Notice } from '../parts/parts.tsx';
import { type LiveState, type Start, useSessionEntries } from './session-events.ts';
import { itemOf } from './timeline.ts';
import { usePlace } from './session-place.ts';
import type { Outline } from './session-outline.ts';
import { type Search, TimelineHead } from './timeline-head.tsx';
import { TimelineItems } from './timeline-items.tsx';
import { eventInAddress, useWanted } from './wanted-event.ts';
import { SessionStrip } from './session-strip.tsx';
import { SessionLanes } from './session-lanes.tsx';
import { SessionContents } from './session-contents.tsx';
import { FoundEvents } from './session-search.tsx';

const LIVE_WORDS: Readonly<Record<LiveState, string>> = {
  loading: 'Loading…',
  live: 'Live: new events appear by themselves.',
  reconnecting: 'The connection was lost; reconnecting…',
  paused: 'New events wait: the limit of this minute is used up.',
  ended: 'The session is finished.',
  refused: 'You cannot follow this session.',
  gone: 'This session no longer sends you its events.',
};

export type Shown = 'events' | 'nothing' | false;

interface TimelineProps {
  readonly id: string;
  readonly isFinished: boolean;
  readonly redactedAt: string | null;
  /** Where to begin if the address names no event. */
  readonly start: Start;
  /** Whether only errors are shown, in the address. */
  readonly errors: ReturnType<typeof useFilter>;
  /** Called with the number of events that have arrived. */
  readonly onArrival: (count: number) => void;
  /** Called when events are shown, or that there are none; false until then. */
  readonly onShown: (shown: Shown) => void;
  /** What happens in the session as a whole; undefined until it is read. */
  readonly outline: Outline | undefined;
  /** Null for a reader who may not read them. */
  readonly turns: number | null;
}

/** The events of a session, or those that a search has found. */
export function Timeline(props: TimelineProps) {
  const [text, setText] = useFilter('text');
  const [errors, setErrors] = props.errors;
  const search: Search = {
    text,
    setText,
    isErrorsOnly: errors !== '',
    setErrorsOnly: (isOn) => setErrors(isOn ? 'yes' : ''),
  };
  useEffect(() => {
    // The link of a found event leads to its place in the session.
    const stopSearching = () => {
      setText('');
      setErrors('');
    };
    addEventListener('hashchange', stopSearching);
    return () => removeEventListener('hashchange', stopSearching);
  }, []);
  if (text.trim() === '' && !search.isErrorsOnly) return <Events {...props} search={search} />;
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <TimelineHead search={search} />
      <FoundEvents key={props.redactedAt} id={props.id} text={text} isErrorsOnly={search.isErrorsOnly} />
    </section>
  );
}

interface EventsProps extends TimelineProps {
  readonly search: Search;
}

function Events({ id, isFinished, redactedAt, start, onArrival, onShown, outline, turns, search }: EventsProps) {
  const [wanted, setWanted] = useState(() => eventInAddress() ?? (typeof start === 'number' ? start : 0));
  const keep = useRef<() => void>(undefined);
  const { loaded, faults, paused, live, missing, arrived, reloads, goTo, loadLater, loadEarlier } = useSessionEntries(
    id,
    {
      start: wanted > 0 ? wanted : start,
      isFinished,
      redactedAt,
      onChange: () => keep.current?.(),
    },
  );
  const place = usePlace(loaded.entries, loaded.entries.length > 0 && !loaded.hasLater);
  keep.current = place.keep;
  const items = useMemo(() => loaded.entries.map(itemOf), [loaded.entries]);
  useWanted({ wanted, setWanted, start, goTo, items, isMissing: missing !== undefined, place });
  const unseen = useUnseen(arrived, place.isAtEnd);
  useEffect(() => onArrival(arrived), [arrived]);
  const goToLatest = async () => {
    await goTo('latest');
    place.goToEnd();
  };
  const isEmpty = loaded.entries.length === 0;
  const hasContents = turns || (outline && outline.entries.length > 0);
  const shown = isEmpty ? live !== 'loading' && 'nothing' : 'events';
  useEffect(() => onShown(shown), [shown]);
  const canGoToLatest = loaded.hasLater || (!place.isAtEnd && !isEmpty);
  return (
    <section class="timeline" aria-labelledby="timeline-title" ref={place.section}>
      <TimelineHead
        search={search}
        strip={!isEmpty && <div class="strip-place">{outline && <SessionStrip outline={outline} />}</div>}
      >
        {!loaded.hasLater && <Live state={live} />}
        {canGoToLatest && <Button onClick={() => void goToLatest()}>Latest events</Button>}
      </TimelineHead>
      {outline?.entries.some(({ kind }) => kind === 'SUBAGENT') && <SessionLanes sessionId={id} outline={outline} />}
      <Faults faults={faults} />
      {missing !== undefined && <Notice>{missingWords(missing, items.at(-1)?.lastId)}</Notice>}
      <div class={isEmpty || !hasContents ? '' : 'timeline-columns'}>
        {outline && <SessionContents sessionId={id} outline={outline} turns={turns ?? 0} />}
        <div class="timeline-main">
          {loaded.hasEarlier && <LoadMore label="Earlier events" load={loadEarlier} isAutomatic />}
          {isEmpty && paused && <Loading paused={paused} />}
          {isEmpty && live !== 'loading' && <NoEvents id={id} />}
          <TimelineItems key={reloads} items={items} sessionId={id} wanted={wanted} />
          {!isEmpty && paused && <Waiting paused={paused} />}
          {loaded.hasLater && <LoadMore label="Later events" load={loadLater} isAutomatic />}
        </div>
      </div>
      {unseen > 0 && (
        <button class="button unseen" onClick={() => void goToLatest()}>
          {counted(unseen, 'new event')} ↓
        </button>
      )}
    </section>
  );
}

const Live = ({ state }: { readonly state: LiveState }) => (
  <span class={`live ${state}`} role="status">
    {LIVE_WORDS[state]}
  </span>
);

function missingWords(missing: number, latest: number | undefined): string {
  const rest =
    latest === undefined ? 'The session has no events yet.' : `These are the latest ones, up to event ${latest}.`;
  return `Event ${missing} does not exist (yet). ${rest}`;
}

/** Number of events that arrived while the reader was not at the end. */
function useUnseen(arrived: number, isAtEnd: boolean): number {
  const seen = useRef(0);
  if (isAtEnd) seen.current = arrived;
  return arrived - seen.current;
}

function NoEvents({ id }: { readonly id: string }) {
  return (
    <Empty command={recordingCommand(`--session ${id} -- codex exec --json "…"`)}>
      No events have been recorded yet. Record an agent into this session:
    </Empty>
  );
}
