import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.ts';

interface LoadMoreProps {
  readonly label: string;
  readonly load: () => Promise<void>;
  readonly isAutomatic?: boolean;
}

/** A button for another page. With `isAutomatic` it loads when it scrolls into view. */
export function LoadMore({ label, load, isAutomatic = false }: LoadMoreProps): VNode {
  const button = useRef<HTMLButtonElement>(null);
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
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
  return html`<button ref=${button} class="button plain more" disabled=${isBusy} onClick=${press}>
    ${isBusy ? 'Loading…' : label}
  </button>`;
}
