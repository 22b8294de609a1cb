import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface LoadMoreProps {
  readonly label: string;
  readonly load: () => Promise<void>;
  readonly isAutomatic?: boolean;
}

/** A button for another page, before or after the rows. With `isAutomatic` it loads when it scrolls into view. */
export function LoadMore({ label, load, isAutomatic = false }: LoadMoreProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [isBusy, setBusy] = useState(false);
  useFocusOnRows(button);
  const press = async () => {
    if (isBusy) return;
    setBusy(true);
    await load();
    setBusy(false);
  };
  useEffect(() => {
    if (!isAutomatic || isBusy || !button.current) return undefined;
    // A busy page gets several entries at once.
    const seen = (entries: IntersectionObserverEntry[]) =>
      void (entries.some(({ isIntersecting }) => isIntersecting) && press());
    const observer = new IntersectionObserver(seen, { rootMargin: '600px' });
    observer.observe(button.current);
    return () => observer.disconnect();
  });
  // A disabled button would lose the focus.
  return (
    <button ref={button} class="button plain more" aria-disabled={isBusy} onClick={() => void press()}>
      {isBusy ? 'Loading…' : label}
    </button>
  );
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';

/**
 * Moves the focus into the rows when the button that has it is removed, with the last page: to the first row that was loaded after them, to
 * the row below a button that loads before them. A list whose rows take no focus gets it.
 */
function useFocusOnRows(button: RefObject<HTMLElement | null>): void {
  useLayoutEffect(
    () => () => {
      const { current } = button;
      const list = current?.parentElement;
      if (!list || current !== document.activeElement) return;
      const stops = () => [...list.querySelectorAll<HTMLElement>(FOCUSABLE)];
      const before = stops();
      const at = before.indexOf(current);
      const [above, below] = [before[at - 1], before[at + 1]];
      // The button is removed before the rows are drawn.
      queueMicrotask(() => {
        const after = stops();
        const next = below ?? after[above ? after.indexOf(above) + 1 : 0] ?? above;
        next?.focus({ preventScroll: true });
      });
    },
    [],
  );
}
