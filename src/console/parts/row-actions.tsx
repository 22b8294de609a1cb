import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
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

/** What else can be done with the object of a page, behind the button "…". It closes when something beside it is clicked or has the focus. */
export function Menu({ children }: { readonly children: Content }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    // What was clicked can be gone by now.
    const moved = (event: Event) => (place.current && event.composedPath().includes(place.current)) || setOpen(false);
    const pressed = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || document.querySelector('dialog[open]')) return;
      setOpen(false);
      place.current?.querySelector('button')?.focus();
    };
    addEventListener('click', moved);
    addEventListener('focusin', moved);
    addEventListener('keydown', pressed);
    return () => {
      removeEventListener('click', moved);
      removeEventListener('focusin', moved);
      removeEventListener('keydown', pressed);
    };
  }, [isOpen]);
  return (
    <div class="menu" ref={place}>
      <Button aria-label="More actions" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        …
      </Button>
      <div class={`actions ${isOpen ? 'open' : ''}`}>{children}</div>
    </div>
  );
}
