import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, type Paused, query } from '../parts/api.ts';
import type { Answers } from '../generated/operation-types.ts';
import { type FollowState, follow } from '../parts/streams.ts';
import type { Entry } from './timeline.ts';

/** Loads the entries of a session page by page, and follows them live once the latest ones are loaded. */

/** So many pages use up the requests of a minute about when their entries use up its cost. */
const PAGE = 250;
/** Maximum number of loaded entries. Adding more removes some at the other end, which are loaded again when the reader scrolls back. */
const MAX_ENTRIES = 4000;
/** Number of events to load before the wanted one. */
const BEFORE_WANTED = 40;

export interface LoadedEntries {
  readonly entries: readonly Entry[];
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

interface SessionEntries {
  readonly loaded: LoadedEntries;
  readonly faults: readonly Fault[];
  /** Set while a page waits because the gateway cannot answer at present. It continues by itself. */
  readonly paused: Paused | undefined;
  readonly live: LiveState;
  /** The wanted event, if it does not exist; then the latest entries are loaded. */
  readonly missing: number | undefined;
  /** Number of entries that began since the page was opened. */
  readonly arrived: number;
  /** Number of times that the loaded entries were loaded again. */
  readonly reloads: number;
  /** Loads the entries at another place, unless they are loaded already. */
  readonly goTo: (start: Start) => Promise<void>;
  readonly loadLater: () => Promise<void>;
  readonly loadEarlier: () => Promise<void>;
}

interface Options {
  readonly start: Start;
  /** Changes when the session is finished or queued again. */
  readonly isFinished: boolean;
  /** Changes when texts of the session were redacted: the loaded entries are then loaded again. */
  readonly redactedAt: string | null;
  /** Called before loaded entries are added or removed. */
  readonly onChange: () => void;
}

const NOTHING: LoadedEntries = { entries: [], hasEarlier: false, hasLater: false };

export function useSessionEntries(id: string, { start, isFinished, redactedAt, onChange }: Options): SessionEntries {
  const [loaded, setLoaded] = useState(NOTHING);
  const [missing, setMissing] = useState<number>();
  const [arrived, setArrived] = useState(0);
  const { load, leave, faults, paused, stop } = useLoader(id);
  const goTo = async (next: Start) => {
    if (isLoaded(loaded, next)) return setMissing(undefined);
    leave();
    const found = await load(pageAt(next));
    if (!found) return;
    const isMissing = typeof next === 'number' && !found.nodes.some(({ lastEventId }) => Number(lastEventId) >= next);
    const shown = isMissing ? await load({ last: PAGE }) : found;
    if (!shown) return;
    setMissing(isMissing ? next : undefined);
    const { hasPreviousPage, hasNextPage } = shown.pageInfo;
    const isAfter = !isMissing && pageAt(next).after !== undefined;
    setLoaded({ entries: shown.nodes, hasEarlier: hasPreviousPage || isAfter, hasLater: hasNextPage });
  };
  const loadLater = async () => {
    const found = await load({ first: PAGE, after: cursorOf(idOf(loaded.entries.at(-1))) });
    if (!found) return;
    onChange();
    setLoaded((before) => withLater(before, found.nodes, found.pageInfo.hasNextPage));
  };
  const loadEarlier = async () => {
    const found = await load({ last: PAGE, before: cursorOf(idOf(loaded.entries[0]) || 1) });
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
    setLoaded((before) => ({ ...before, entries: before.entries.map((entry) => fresh.get(entry.id) ?? entry) }));
    onDone();
  });
  useEffect(() => {
    setLoaded(NOTHING);
    void goTo(start);
    return stop;
  }, [id]);
  const latest = useRef(0);
  const change = (batches: readonly Batch[]) => {
    onChange();
    const began = batches.flatMap(({ entries }) => entries.map((entry) => idOf(entry)));
    const known = Math.max(latest.current, idOf(loaded.entries.at(-1)));
    setArrived((count) => count + new Set(began.filter((entry) => entry > known)).size);
    latest.current = began.reduce((last, entry) => Math.max(last, entry), known);
    setLoaded((before) => batches.reduce(withBatch, before));
  };
  const live = useLiveEntries({ id, loaded, isFinished, change });
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
    const { data, faults: found } = await query('SessionEntries', { id, ...page }, { signal, onPause });
    if (signal.aborted) return null;
    setFaults(found);
    return data?.session?.entries ?? null;
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

/** The loaded entries, as they are now; undefined if the reader goes elsewhere meanwhile. */
async function loadAgain(
  { entries }: LoadedEntries,
  load: (page: Page) => Promise<{ readonly nodes: readonly Entry[] } | null>,
) {
  const fresh = new Map<string, Entry>();
  const last = idOf(entries.at(-1));
  for (let after = idOf(entries[0]) - 1; after < last;) {
    const found = await load(pageAfter(after));
    if (!found) return undefined;
    for (const entry of found.nodes) fresh.set(entry.id, entry);
    after = idOf(found.nodes.at(-1)) || last;
  }
  return fresh;
}

function pageAt(start: Start): Page {
  if (start === 'latest') return { last: PAGE };
  return pageAfter(start === 'first' ? 0 : start - 1 - BEFORE_WANTED);
}

const pageAfter = (id: number): Page => (id > 0 ? { first: PAGE, after: cursorOf(id) } : { first: PAGE });

/** Whether the entries at this place are loaded. */
function isLoaded(loaded: LoadedEntries, start: Start): boolean {
  if (loaded === NOTHING) return false;
  return start === 'latest' ? isAtEnd(loaded) : start === 'first' ? !loaded.hasEarlier : hasEvent(loaded, start);
}

const isAtEnd = (loaded: LoadedEntries): boolean => loaded !== NOTHING && !loaded.hasLater;

const hasEvent = ({ entries }: LoadedEntries, id: number): boolean =>
  entries.length > 0 && id >= idOf(entries[0]) && id <= lastEventOf(entries);

const idOf = (entry: Entry | undefined): number => Number(entry?.databaseId ?? 0);

const lastEventOf = (entries: readonly Entry[]): number =>
  entries.reduce((last, { lastEventId }) => Math.max(last, Number(lastEventId)), 0);

type Batch = Pick<Answers['FollowSession']['sessionEntries'], 'entries' | 'removedIds'>;

interface LiveEntries {
  readonly id: string;
  readonly loaded: LoadedEntries;
  readonly isFinished: boolean;
  readonly change: (batches: readonly Batch[]) => void;
}

/** When a session is followed again that has ended, although this page does not know it as finished: it may be queued again by then. */
const AGAIN_MS = 1000;

/** Follows the session while its latest entries are loaded. What arrives within one frame is shown together. */
function useLiveEntries({ id, loaded, isFinished, change }: LiveEntries): LiveState {
  const [live, setLive] = useState<LiveState>('loading');
  const [round, setRound] = useState(0);
  const canFollow = isAtEnd(loaded);
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (!canFollow) return undefined;
    let waiting: Batch[] = [];
    let frame = 0;
    const draw = () => {
      frame = 0;
      latest.current(waiting);
      waiting = [];
    };
    const onData = ({ sessionEntries }: { readonly sessionEntries: Batch }) => {
      waiting.push(sessionEntries);
      frame ||= requestAnimationFrame(draw);
    };
    const from = { id, after: cursorOf(seenOf(loaded.entries)) };
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

/** Calls can have ended since their page was loaded, if they are not longer ago than this. */
const LOOK_BACK = 1000;

/** The last event of which all that it has changed is loaded. */
function seenOf(entries: readonly Entry[]): number {
  const last = lastEventOf(entries);
  const seen = entries.reduce(
    (least, { isOpen, lastEventId }) => (isOpen ? Math.min(least, Number(lastEventId)) : least),
    last,
  );
  return Math.max(seen, last - LOOK_BACK);
}

/** Appends later entries, and removes the earliest ones if there are too many. */
function withLater(before: LoadedEntries, later: readonly Entry[], hasLater: boolean): LoadedEntries {
  const known = idOf(before.entries.at(-1));
  const entries = [...before.entries, ...later.filter((entry) => idOf(entry) > known)];
  const isTooMany = entries.length > MAX_ENTRIES;
  return { entries: entries.slice(-MAX_ENTRIES), hasEarlier: before.hasEarlier || isTooMany, hasLater };
}

/** Prepends earlier entries, and removes the latest ones if there are too many. */
function withEarlier(before: LoadedEntries, earlier: readonly Entry[], hasEarlier: boolean): LoadedEntries {
  const entries = [...earlier, ...before.entries];
  const isTooMany = entries.length > MAX_ENTRIES;
  return { entries: entries.slice(0, MAX_ENTRIES), hasEarlier, hasLater: before.hasLater || isTooMany };
}

/** Replaces what has changed, and appends what has begun. */
function withBatch(before: LoadedEntries, { entries, removedIds }: Batch): LoadedEntries {
  const [changed, removed] = [new Map(entries.map((entry) => [entry.id, entry])), new Set(removedIds)];
  const known = before.entries.filter(({ id }) => !removed.has(id)).map((entry) => changed.get(entry.id) ?? entry);
  const began = entries.toSorted((one, other) => idOf(one) - idOf(other));
  return withLater({ ...before, entries: known }, began, before.hasLater);
}
