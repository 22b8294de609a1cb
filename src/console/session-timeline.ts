import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from './amounts.ts';
import { useFilter } from './filters.ts';
import { html } from './html.ts';
import { lazy } from './lazy.ts';
import { recordingCommand } from './recording-command.ts';
import { LoadMore } from './load-more.ts';
import { Empty, Faults, Loading, Waiting } from './parts.ts';
import { type LiveState, type Start, useSessionEvents } from './session-events.ts';
import { usePlace } from './session-place.ts';
import type { Outline } from './session-outline.ts';
import { type Search, TimelineHead } from './timeline-head.ts';
import { TimelineItems, useItems } from './timeline-items.ts';
import { eventInAddress, useWanted } from './wanted-event.ts';

const SessionStrip = lazy(async () => (await import('./session-strip.ts')).SessionStrip, null);
const SessionLanes = lazy(async () => (await import('./session-lanes.ts')).SessionLanes, null);
const SessionContents = lazy(async () => (await import('./session-contents.ts')).SessionContents, null);
const FoundEvents = lazy(async () => (await import('./session-search.ts')).FoundEvents);

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
}

/** The events of a session, or those that a search has found. */
export function Timeline(props: TimelineProps): VNode {
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
  if (text.trim() === '' && !search.isErrorsOnly) return html`<${Events} ...${props} search=${search} />`;
  return html`<section class="timeline" aria-labelledby="timeline-title">
    <${TimelineHead} search=${search} />
    <${FoundEvents} key=${props.redactedAt} id=${props.id} text=${text} isErrorsOnly=${search.isErrorsOnly} />
  </section>`;
}

interface EventsProps extends TimelineProps {
  readonly search: Search;
}

function Events({ id, isFinished, redactedAt, start, onArrival, onShown, outline, search }: EventsProps): VNode {
  const [wanted, setWanted] = useState(() => eventInAddress() ?? (typeof start === 'number' ? start : 0));
  const keep = useRef<() => void>(undefined);
  const { loaded, faults, paused, live, missing, arrived, reloads, goTo, loadLater, loadEarlier } = useSessionEvents(
    id,
    {
      start: wanted > 0 ? wanted : start,
      isFinished,
      redactedAt,
      onChange: () => keep.current?.(),
    },
  );
  const place = usePlace(loaded.events, loaded.events.length > 0 && !loaded.hasLater);
  keep.current = place.keep;
  const items = useItems(loaded.events);
  useWanted({ wanted, setWanted, start, goTo, items, isMissing: missing !== undefined, place });
  const unseen = useUnseen(arrived, place.isAtEnd);
  useEffect(() => onArrival(arrived), [arrived]);
  const goToLatest = async () => {
    await goTo('latest');
    place.goToEnd();
  };
  const isEmpty = loaded.events.length === 0;
  const shown = isEmpty ? live !== 'loading' && 'nothing' : 'events';
  useEffect(() => onShown(shown), [shown]);
  const canGoToLatest = loaded.hasLater || (!place.isAtEnd && !isEmpty);
  return html`<section class="timeline" aria-labelledby="timeline-title" ref=${place.section}>
    <${TimelineHead}
      search=${search}
      strip=${!isEmpty && html`<div class="strip-place">${outline && html`<${SessionStrip} outline=${outline} />`}</div>`}
    >
      ${!loaded.hasLater && html`<span class="live ${live}" role="status">${LIVE_WORDS[live]}</span>`}
      ${canGoToLatest && html`<button class="button small plain" onClick=${goToLatest}>Latest events</button>`}
    <//>
    ${outline?.entries.some(({ kind }) => kind === 'SUBAGENT') && html`<${SessionLanes} sessionId=${id} outline=${outline} />`}
    <${Faults} faults=${faults} />
    ${missing !== undefined && html`<p class="notice" role="status">${missingWords(missing, loaded.events.at(-1)?.databaseId)}</p>`}
    <div class=${isEmpty ? '' : 'timeline-columns'}>
      ${outline && html`<${SessionContents} sessionId=${id} outline=${outline} />`}
      <div class="timeline-main">
        ${loaded.hasEarlier && html`<${LoadMore} label="Earlier events" load=${loadEarlier} isAutomatic />`}
        ${isEmpty && paused && html`<${Loading} paused=${paused} />`}
        ${isEmpty && live !== 'loading' && html`<${NoEvents} id=${id} />`}
        <${TimelineItems} key=${reloads} items=${items} sessionId=${id} wanted=${wanted} />
        ${!isEmpty && paused && html`<${Waiting} paused=${paused} />`}
        ${loaded.hasLater && html`<${LoadMore} label="Later events" load=${loadLater} isAutomatic />`}
      </div>
    </div>
    ${unseen > 0 && html`<button class="button unseen" onClick=${goToLatest}>${counted(unseen, 'new event')} ↓</button>`}
  </section>`;
}

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

function NoEvents({ id }: { readonly id: string }): VNode {
  return html`<${Empty} command=${recordingCommand(`--session ${id} -- codex exec --json "…"`)}
    >No events have been recorded yet. Record an agent into this session:<//
  >`;
}
