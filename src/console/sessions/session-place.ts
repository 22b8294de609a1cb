import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Where the reader of a timeline is: at its end, where new events are followed, or somewhere else, where nothing moves. */

/** So far from its end, in pixels, a timeline still counts as read to the end. */
const NEAR = 80;
/** Rows that come into view get their height one frame later, and then others come into view. */
const STILL_FRAMES = 3;
const MAX_FRAMES = 20;
const LEAVING_MS = 300;

interface KeptRow {
  readonly id: string;
  readonly top: number;
}

type Sought = 'end' | KeptRow | undefined;

export interface Place {
  readonly section: { current: HTMLElement | null };
  readonly isAtEnd: boolean;
  /** Notes where the visible rows are. When the events have changed, they are there again. */
  readonly keep: () => void;
  readonly goToEnd: () => void;
  readonly goToRow: (id: number) => void;
}

/**
 * @param shown changes with the rows
 * @param isComplete whether the end of the rows is the end of the session
 */
export function usePlace(shown: unknown, isComplete: boolean): Place {
  const section = useRef<HTMLElement>(null);
  const follows = useRef(false);
  const lastY = useRef(0);
  /** When the reader last turned the wheel up, which leaves the end even by a little. */
  const leftAt = useRef(0);
  const kept = useRef<readonly KeptRow[]>([]);
  /** Where the reader was brought to, until they do something. */
  const sought = useRef<Sought>(undefined);
  const [isAtEnd, setAtEnd] = useState(false);
  const canFollow = useRef(isComplete);
  canFollow.current = isComplete;
  /** Rows can become higher after the reader came to the end: only scrolling up leaves it. */
  const measure = () => {
    if (distanceToEnd(section.current) < NEAR)
      follows.current = canFollow.current && Date.now() > leftAt.current + LEAVING_MS;
    else if (scrollY < lastY.current) follows.current = false;
    if (scrollY !== lastY.current && hasMoved(sought.current)) sought.current = undefined;
    lastY.current = scrollY;
    setAtEnd(follows.current);
  };
  const goToEnd = () => {
    follows.current = true;
    sought.current = 'end';
    settle(() => {
      const moved = follows.current && scrollFor(distanceToEnd(section.current));
      lastY.current = scrollY;
      return moved;
    });
    setAtEnd(true);
  };
  const goToRow = (id: number) => {
    follows.current = false;
    kept.current = [];
    settle(() => {
      const before = scrollY;
      sought.current = centered(`event-${id}`);
      return scrollY !== before;
    });
    setAtEnd(false);
  };
  useResizes(section, () => {
    const { current: place } = sought;
    // Browsers keep rows where they are, but not at the top of a page.
    if (typeof place === 'object') settle(() => sought.current === place && returnTo(place));
    else if (follows.current && (scrollY > 0 || place === 'end')) goToEnd();
    // Who has not scrolled reads the beginning, which may now be longer than the window.
    else follows.current &&= distanceToEnd(section.current) < NEAR;
  });
  useScrolling(measure, () => {
    leftAt.current = Date.now();
    follows.current = false;
  });
  useEffect(() => onGestures(() => (sought.current = undefined)), []);
  useLayoutEffect(() => {
    const anchor = kept.current.find(({ id }) => document.getElementById(id));
    kept.current = [];
    if (follows.current) goToEnd();
    else if (anchor && returnTo(anchor)) settle(() => !follows.current && returnTo(anchor));
    const frame = requestAnimationFrame(measure);
    return () => cancelAnimationFrame(frame);
  }, [shown]);
  const keep = () => void (kept.current = visibleRows(section.current));
  return { section, isAtEnd, keep, goToEnd, goToRow };
}

/** A message becomes higher when it is drawn as Markdown, and results and subagents appear above the rows. */
function useResizes(section: Place['section'], onResize: () => void): void {
  useEffect(() => {
    const observer = new ResizeObserver(onResize);
    if (section.current?.parentElement) observer.observe(section.current.parentElement);
    return () => observer.disconnect();
  }, []);
}

function useScrolling(onScroll: () => void, onWheelUp: () => void): void {
  useEffect(() => {
    const wheel = ({ deltaY }: WheelEvent) => {
      if (deltaY < 0) onWheelUp();
    };
    addEventListener('wheel', wheel, { passive: true });
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('resize', onScroll);
    return () => {
      removeEventListener('wheel', wheel);
      removeEventListener('scroll', onScroll);
      removeEventListener('resize', onScroll);
    };
  }, []);
}

/** Scrolls so that a row is in the middle of the window, if it can be. */
function centered(id: string): KeptRow | undefined {
  const row = document.getElementById(id);
  row?.scrollIntoView({ block: 'center', behavior: 'instant' });
  return row ? { id, top: row.getBoundingClientRect().top } : undefined;
}

/** Scrolls so that a row is again where it was. @returns whether it had moved */
const returnTo = (row: KeptRow): boolean => scrollFor(movedBy(row));

const hasMoved = (place: Sought): boolean => typeof place === 'object' && movedBy(place) !== 0;

/** How far down a row has moved; less than a pixel is nothing. */
function movedBy({ id, top }: KeptRow): number {
  const distance = (document.getElementById(id)?.getBoundingClientRect().top ?? top) - top;
  return Math.abs(distance) < 1 ? 0 : distance;
}

/** @returns whether there was something to scroll */
function scrollFor(distance: number): boolean {
  if (Math.abs(distance) < 1) return false;
  const before = scrollY;
  scrollBy({ top: distance, behavior: 'instant' });
  return scrollY !== before;
}

/** What readers do to scroll themselves. */
const GESTURES = ['wheel', 'touchmove', 'keydown', 'pointerdown'];

/** @returns a function that ends it */
function onGestures(onGesture: () => void): () => void {
  for (const gesture of GESTURES) addEventListener(gesture, onGesture, { passive: true });
  return () => {
    for (const gesture of GESTURES) removeEventListener(gesture, onGesture);
  };
}

/** Scrolls until nothing moves any more, or until the reader scrolls. */
function settle(scroll: () => boolean): void {
  let [still, frames, isStopped] = [0, 0, false];
  const stop = () => {
    isStopped = true;
    forget();
  };
  const forget = onGestures(stop);
  const next = () => {
    if (isStopped) return;
    still = scroll() ? 0 : still + 1;
    frames += 1;
    if (still > STILL_FRAMES || frames > MAX_FRAMES) stop();
    else requestAnimationFrame(next);
  };
  next();
}

/** How far below the window the timeline ends. */
const distanceToEnd = (section: HTMLElement | null): number =>
  section ? Math.ceil(section.getBoundingClientRect().bottom) - innerHeight : Infinity;

/** Some of the rows in view: the first ones can be joined with what is loaded before them. */
function visibleRows(section: HTMLElement | null): KeptRow[] {
  const rows: KeptRow[] = [];
  for (const row of section?.querySelectorAll('.item') ?? []) {
    const { top, bottom } = row.getBoundingClientRect();
    if (top > innerHeight) break;
    if (bottom > 0) rows.push({ id: row.id, top });
  }
  return rows;
}
