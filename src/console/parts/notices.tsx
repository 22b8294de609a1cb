import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { useKeptFocus } from './hooks.ts';

/** The confirmation of what was done. It stays when the action itself opens another page, and goes when the reader does. */

/** Time to read it; the page shows the change itself. */
const SHOWN_MS = 10_000;
/** A page that is opened sooner was opened by the action. */
const BY_ACTION_MS = 1_000;

let show: (text: string) => void = () => undefined;

/** Confirms a finished change. */
export function confirmDone(text: string): void {
  show(text);
}

/** Runs the steps after a change, and confirms it. */
export function finish(text: string, ...steps: readonly (() => void)[]): void {
  for (const step of steps) step();
  confirmDone(text);
}

export function Notices({ path }: { readonly path: string }) {
  const [text, setText] = useState('');
  const shownAt = useRef(0);
  useEffect(() => {
    show = setText;
  }, []);
  useEffect(() => {
    if (text === '') return undefined;
    shownAt.current = Date.now();
    const timer = setTimeout(() => setText(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (Date.now() > shownAt.current + BY_ACTION_MS) setText('');
  }, [path]);
  return (
    <div role="status">
      {text !== '' && (
        <div class="done">
          <span>{text}</span>
          <CloseButton onClose={() => setText('')} />
        </div>
      )}
    </div>
  );
}

function CloseButton({ onClose }: { readonly onClose: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useKeptFocus(button);
  return (
    <Button ref={button} onClick={onClose}>
      Close
    </Button>
  );
}
