import { useState } from 'preact/hooks';
import type { Content } from './markup.ts';

/** What can be done with a row: shown where the pointer or the focus is, and by the button "…". */
export function RowActions({ children }: { readonly children: Content }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button class="more-actions" aria-label="Actions" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        …
      </button>
      <div class={`actions narrow ${isOpen ? 'open' : ''}`}>{children}</div>
    </>
  );
}
