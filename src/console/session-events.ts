import { useEffect, useState } from 'preact/hooks';
import { type Fault, run } from './api.ts';
import { type FollowState, follow } from './streams.ts';
import type { TimelineEvent } from './timeline.ts';

/** Loads the events of a session page by page, and follows them live once the latest ones are loaded. */

const PAGE = 200;
/** Maximum number of loaded events. Adding more removes some at the other end, which are loaded again when the reader scrolls back. */
const MAX_EVENTS = 4000;
/** Number of events to load before the one in the URL. */
const BEFORE_WANTED = 20;

export interface LoadedEvents {
  readonly events: readonly TimelineEvent[];
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
}

export type LiveState = 'loading' | FollowState;

interface Page {
  readonly first?: number;
  readonly after?: string;
  readonly last?: number;
  readonly before?: string;
}

interface SessionEvents {
  readonly loaded: LoadedEvents;
  readonly faults: readonly Fault[];
  readonly live: LiveState;
  readonly loadLatest: () => Promise<void>;
  readonly loadLater: () => Promise<void>;
  readonly loadEarlier: () => Promise<void>;
}

const NOTHING: LoadedEvents = { events: [], hasEarlier: false, hasLater: false };

/** Starts shortly before the event `wanted`, or with the first event if it is 0. `onEnd` is called when the session has ended or can no longer be read. */
export function useSessionEvents(id: string, wanted: number, onEnd: () => void): SessionEvents {
  const [loaded, setLoaded] = useState(NOTHING);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const load = async (page: Page) => {
    const { data, faults: found } = await run('SessionEvents', { id, ...page });
    setFaults(found);
    return data?.session?.events ?? null;
  };
  const restart = async (page: Page) => {
    setLoaded(NOTHING);
    const found = await load(page);
    if (!found) return;
    const { hasPreviousPage, hasNextPage } = found.pageInfo;
    setLoaded({ events: found.nodes, hasEarlier: hasPreviousPage || page.after !== undefined, hasLater: hasNextPage });
  };
  const loadLater = async () => {
    const found = await load({ first: PAGE, after: cursorOf(lastIdOf(loaded)) });
    if (found) setLoaded((before) => withLater(before, found.nodes, found.pageInfo.hasNextPage));
  };
  const loadEarlier = async () => {
    const found = await load({ last: PAGE, before: cursorOf(loaded.events[0]?.databaseId ?? 1) });
    if (found) setLoaded((before) => withEarlier(before, found.nodes, found.pageInfo.hasPreviousPage));
  };
  useEffect(() => {
    const isFar = wanted > BEFORE_WANTED;
    void restart({ first: PAGE, ...(isFar && { after: cursorOf(wanted - BEFORE_WANTED) }) });
  }, [id]);
  const append = (events: readonly TimelineEvent[]) =>
    setLoaded((before) => withLater(before, events, before.hasLater));
  const live = useLiveEvents({ id, loaded, append, onEnd });
  return { loaded, faults, live, loadLatest: () => restart({ last: PAGE }), loadLater, loadEarlier };
}

interface LiveEvents {
  readonly id: string;
  readonly loaded: LoadedEvents;
  readonly append: (events: readonly TimelineEvent[]) => void;
  readonly onEnd: () => void;
}

/** Follows the session while its latest events are loaded. Events that arrive within one frame are appended together. */
function useLiveEvents({ id, loaded, append, onEnd }: LiveEvents): LiveState {
  const [live, setLive] = useState<LiveState>('loading');
  const isAtEnd = loaded !== NOTHING && !loaded.hasLater;
  useEffect(() => {
    if (!isAtEnd) return undefined;
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
    const onState = (state: LiveState) => {
      setLive(state);
      if (state === 'ended' || state === 'refused' || state === 'gone') onEnd();
    };
    const stop = follow('FollowSession', { id, after: cursorOf(lastIdOf(loaded)) }, { onData, onState });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id, isAtEnd]);
  return live;
}

function cursorOf(eventId: number): string {
  return String(eventId);
}

function lastIdOf({ events }: LoadedEvents): number {
  return events.at(-1)?.databaseId ?? 0;
}

/** Appends later events, and removes the earliest ones if there are too many. */
function withLater(before: LoadedEvents, later: readonly TimelineEvent[], hasLater: boolean): LoadedEvents {
  const events = [...before.events, ...later];
  const isTooMany = events.length > MAX_EVENTS;
  return { events: events.slice(-MAX_EVENTS), hasEarlier: before.hasEarlier || isTooMany, hasLater };
}

/** Prepends earlier events, and removes the latest ones if there are too many. */
function withEarlier(before: LoadedEvents, earlier: readonly TimelineEvent[], hasEarlier: boolean): LoadedEvents {
  const events = [...earlier, ...before.events];
  const isTooMany = events.length > MAX_EVENTS;
  return { events: events.slice(0, MAX_EVENTS), hasEarlier, hasLater: before.hasLater || isTooMany };
}
