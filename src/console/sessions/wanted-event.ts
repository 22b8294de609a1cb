import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Start } from './session-events.ts';
import type { Place } from './session-place.ts';
import type { TimelineItem } from './timeline.ts';

/** The event that the address names, as in `#event-12`. */

export function eventInAddress(): number | undefined {
  const id = Number(/^#event-(\d{1,15})$/.exec(location.hash)?.[1] ?? 0);
  return id > 0 ? id : undefined;
}

/** Goes to an event, also if the address names it already. */
export function goToEvent(id: number): void {
  if (eventInAddress() === id) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = `event-${id}`;
}

interface Wanted {
  /** The wanted event; 0 for none. */
  readonly wanted: number;
  readonly setWanted: (id: number) => void;
  readonly start: Start;
  readonly goTo: (start: Start) => Promise<void>;
  readonly items: readonly TimelineItem[];
  readonly isMissing: boolean;
  readonly place: Place;
}

/** Scrolls to the wanted event, and loads and scrolls to another one when the address names that. */
export function useWanted({ wanted, setWanted, start, goTo, items, isMissing, place }: Wanted): void {
  /** What is still to be scrolled to. */
  const target = useRef<Start | undefined>(wanted > 0 ? wanted : start === 'latest' ? start : undefined);
  const [moves, setMoves] = useState(0);
  const go = useRef(goTo);
  go.current = goTo;
  useEffect(() => {
    const moved = async () => {
      const next = eventInAddress();
      if (next === undefined) return;
      setWanted(next);
      await go.current(next);
      target.current = next;
      setMoves((count) => count + 1);
    };
    const onMove = () => void moved();
    addEventListener('hashchange', onMove);
    return () => removeEventListener('hashchange', onMove);
  }, []);
  useLayoutEffect(() => {
    const { current } = target;
    if (current === undefined || items.length === 0) return;
    target.current = undefined;
    const row = typeof current === 'number' && !isMissing ? rowOf(items, current) : undefined;
    if (row === undefined) place.goToEnd();
    else {
      place.goToRow(row);
      // Following a link to an event takes the focus away; from its row the keyboard goes on.
      if (moves > 0 && document.activeElement === document.body)
        document.querySelector<HTMLElement>(`#event-${row} .anchor`)?.focus({ preventScroll: true });
    }
  }, [items, moves]);
}

/** The row of an event: the latest one that has it, or else the next one. */
function rowOf(items: readonly TimelineItem[], wanted: number): number | undefined {
  const having = items.findLast(({ id, lastId }) => id <= wanted && wanted <= lastId);
  return (having ?? items.find(({ id }) => id >= wanted) ?? items.at(-1))?.id;
}
