import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, type Paused, query } from '../parts/api.ts';
import type { TimelineEvent } from './event-content.ts';
import { type FollowState, follow } from '../parts/streams.ts';

/** Loads the events of a session page by page, and follows them live once the latest ones are loaded. */

/** So many pages use up the requests of a minute about when their events use up its cost. */
const PAGE = 250;
/** Maximum number of loaded events. Adding more removes some at the other end, which are loaded again when the reader scrolls back. */
const MAX_EVENTS = 4000;
/** Number of events to load before the wanted one. */
const BEFORE_WANTED = 40;

export interface LoadedEvents {
  readonly events: readonly TimelineEvent[];
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
}

export type LiveState = 'loading' | FollowState;

/** Where the timeline begins. */
export type Start = 'first' | 'latest' | number;

interface Page {
  readonly first?: number;
  readonly after?: string;
  readonly last?: number;
  readonly before?: string;
}

interface SessionEvents {
  readonly loaded: LoadedEvents;
  readonly faults: readonly Fault[];
  /** Set while a page waits because the gateway cannot answer at present. It continues by itself. */
  readonly paused: Paused | undefined;
  readonly live: LiveState;
  /** The wanted event, if it does not exist; then the latest events are loaded. */
  readonly missing: number | undefined;
  /** Number of events that arrived since the page was opened. */
  readonly arrived: number;
  /** Number of times that the loaded events were loaded again. */
  readonly reloads: number;
  /** Loads the events at another place, unless they are loaded already. */
  readonly goTo: (start: Start) => Promise<void>;
  readonly loadLater: () => Promise<void>;
  readonly loadEarlier: () => Promise<void>;
}

interface Options {
  readonly start: Start;
  /** Changes when the session is finished or queued again. */
  readonly isFinished: boolean;
  /** Changes when texts of the session were redacted: the loaded events are then loaded again. */
  readonly redactedAt: string | null;
  /** Called before loaded events are added or removed. */
  readonly onChange: () => void;
}

const NOTHING: LoadedEvents = { events: [], hasEarlier: false, hasLater: false };

export function useSessionEvents(id: string, { start, isFinished, redactedAt, onChange }: Options): SessionEvents {
  const [loaded, setLoaded] = useState(NOTHING);
  const [missing, setMissing] = useState<number>();
  const [arrived, setArrived] = useState(0);
  const { load, leave, faults, paused, stop } = useLoader(id);
  const goTo = async (next: Start) => {
    if (isLoaded(loaded, next)) return setMissing(undefined);
    leave();
    const found = await load(pageAt(next));
    if (!found) return;
    const isMissing = typeof next === 'number' && !found.nodes.some(({ databaseId }) => databaseId >= next);
    const shown = isMissing ? await load({ last: PAGE }) : found;
    if (!shown) return;
    setMissing(isMissing ? next : undefined);
    const { hasPreviousPage, hasNextPage } = shown.pageInfo;
    const isAfter = !isMissing && pageAt(next).after !== undefined;
    setLoaded({ events: shown.nodes, hasEarlier: hasPreviousPage || isAfter, hasLater: hasNextPage });
  };
  const loadLater = async () => {
    const found = await load({ first: PAGE, after: cursorOf(lastIdOf(loaded)) });
    if (!found) return;
    onChange();
    setLoaded((before) => withLater(before, found.nodes, found.pageInfo.hasNextPage));
  };
  const loadEarlier = async () => {
    const found = await load({ last: PAGE, before: cursorOf(loaded.events[0]?.databaseId ?? 1) });
    if (!found) return;
    onChange();
    setLoaded((before) => withEarlier(before, found.nodes, found.pageInfo.hasPreviousPage));
  };
  const reloads = useReloads(redactedAt, async (onDone) => {
    if (loaded === NOTHING) return goTo(start);
    leave();
    const fresh = await loadAgain(loaded, load);
    if (!fresh) return;
    onChange();
    setLoaded((before) => ({ ...before, events: before.events.map((event) => fresh.get(event.databaseId) ?? event) }));
    onDone();
  });
  useEffect(() => {
    setLoaded(NOTHING);
    void goTo(start);
    return stop;
  }, [id]);
  const append = (events: readonly TimelineEvent[]) => {
    onChange();
    setArrived((count) => count + events.length);
    setLoaded((before) => withLater(before, events, before.hasLater));
  };
  const live = useLiveEvents({ id, loaded, isFinished, append });
  return { loaded, faults, paused, live, missing, arrived, reloads, goTo, loadLater, loadEarlier };
}

/** Loads pages until the reader goes elsewhere. */
function useLoader(id: string) {
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [paused, setPaused] = useState<Paused>();
  /** Aborted when the reader goes elsewhere. */
  const place = useRef(new AbortController());
  const load = async (page: Page) => {
    const { signal } = place.current;
    const onPause = (next?: Paused) => {
      if (!signal.aborted) setPaused(next);
    };
    const { data, faults: found } = await query('SessionEvents', { id, ...page }, { signal, onPause });
    if (signal.aborted) return null;
    setFaults(found);
    return data?.sessionEvents ?? null;
  };
  const leave = () => {
    place.current.abort();
    place.current = new AbortController();
    setPaused(undefined);
  };
  return { load, leave, faults, paused, stop: () => place.current.abort() };
}

/** Calls `reload` when texts were redacted. @returns how often it has loaded everything again. */
function useReloads(redactedAt: string | null, reload: (onDone: () => void) => Promise<void>): number {
  const [reloads, setReloads] = useState(0);
  const shownSince = useRef(redactedAt);
  useEffect(() => {
    if (shownSince.current === redactedAt) return;
    shownSince.current = redactedAt;
    void reload(() => setReloads((count) => count + 1));
  }, [redactedAt]);
  return reloads;
}

/** The loaded events, as they are now; undefined if the reader goes elsewhere meanwhile. */
async function loadAgain(
  { events }: LoadedEvents,
  load: (page: Page) => Promise<{ readonly nodes: readonly TimelineEvent[] } | null>,
) {
  const fresh = new Map<number, TimelineEvent>();
  const last = events.at(-1)?.databaseId ?? 0;
  for (let after = (events[0]?.databaseId ?? 1) - 1; after < last;) {
    const found = await load(pageAfter(after));
    if (!found) return undefined;
    for (const event of found.nodes) fresh.set(event.databaseId, event);
    after = found.nodes.at(-1)?.databaseId ?? last;
  }
  return fresh;
}

function pageAt(start: Start): Page {
  if (start === 'latest') return { last: PAGE };
  return pageAfter(start === 'first' ? 0 : start - 1 - BEFORE_WANTED);
}

const pageAfter = (id: number): Page => (id > 0 ? { first: PAGE, after: cursorOf(id) } : { first: PAGE });

/** Whether the events at this place are loaded. */
function isLoaded(loaded: LoadedEvents, start: Start): boolean {
  if (loaded === NOTHING) return false;
  return start === 'latest' ? isAtEnd(loaded) : start === 'first' ? !loaded.hasEarlier : hasEvent(loaded, start);
}

const isAtEnd = (loaded: LoadedEvents): boolean => loaded !== NOTHING && !loaded.hasLater;

const hasEvent = ({ events }: LoadedEvents, id: number): boolean =>
  id >= (events[0]?.databaseId ?? Infinity) && id <= (events.at(-1)?.databaseId ?? 0);

interface LiveEvents {
  readonly id: string;
  readonly loaded: LoadedEvents;
  readonly isFinished: boolean;
  readonly append: (events: readonly TimelineEvent[]) => void;
}

/** When a session is followed again that has ended, although this page does not know it as finished: it may be queued again by then. */
const AGAIN_MS = 1000;

/** Follows the session while its latest events are loaded. Events that arrive within one frame are appended together. */
function useLiveEvents({ id, loaded, isFinished, append }: LiveEvents): LiveState {
  const [live, setLive] = useState<LiveState>('loading');
  const [round, setRound] = useState(0);
  const canFollow = isAtEnd(loaded);
  useEffect(() => {
    if (!canFollow) return undefined;
    let waiting: TimelineEvent[] = [];
    let frame = 0;
    const draw = () => {
      frame = 0;
      append(waiting);
      waiting = [];
    };
    const onData = ({ sessionEvents }: { readonly sessionEvents: TimelineEvent }) => {
      waiting.push(sessionEvents);
      frame ||= requestAnimationFrame(draw);
    };
    const from = { id, after: cursorOf(lastIdOf(loaded)) };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onState = (state: FollowState) => {
      setLive(state);
      if (state === 'ended' && !isFinished) timer = setTimeout(() => setRound((count) => count + 1), AGAIN_MS);
    };
    const stop = follow('FollowSession', from, { onData, onState });
    return () => {
      stop();
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }, [id, canFollow, isFinished, round]);
  return live;
}

const cursorOf = (eventId: number): string => String(eventId);

const lastIdOf = ({ events }: LoadedEvents): number => events.at(-1)?.databaseId ?? 0;

/** Appends later events, and removes the earliest ones if there are too many. */
function withLater(before: LoadedEvents, later: readonly TimelineEvent[], hasLater: boolean): LoadedEvents {
  const known = lastIdOf(before);
  const events = [...before.events, ...later.filter(({ databaseId }) => databaseId > known)];
  const isTooMany = events.length > MAX_EVENTS;
  return { events: events.slice(-MAX_EVENTS), hasEarlier: before.hasEarlier || isTooMany, hasLater };
}

/** Prepends earlier events, and removes the latest ones if there are too many. */
function withEarlier(before: LoadedEvents, earlier: readonly TimelineEvent[], hasEarlier: boolean): LoadedEvents {
  const events = [...earlier, ...before.events];
  const isTooMany = events.length > MAX_EVENTS;
  return { events: events.slice(0, MAX_EVENTS), hasEarlier, hasLater: before.hasLater || isTooMany };
}
