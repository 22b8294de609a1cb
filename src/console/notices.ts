import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.ts';

/** The confirmation of what was done, which stays when the page changes. */

/** Time to read it; the page shows the change itself. */
const SHOWN_MS = 10_000;

let show: (text: string) => void = () => undefined;

/** Confirms a finished change. */
export function confirmDone(text: string): void {
  show(text);
}

export function Notices(): VNode {
  const [text, setText] = useState('');
  useEffect(() => {
    show = setText;
  }, []);
  useEffect(() => {
    if (text === '') return undefined;
    const timer = setTimeout(() => setText(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<div role="status">
    ${
      text !== '' &&
      html`<div class="done">
        <span>${text}</span><button class="button small plain" onClick=${() => setText('')}>Close</button>
      </div>`
    }
  </div>`;
}
