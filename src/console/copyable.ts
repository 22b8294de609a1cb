import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from './html.ts';

/** A text with a copy button if the browser allows that: over HTTPS and on localhost. */
export function Copyable({ text }: { readonly text: string }): VNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return html`<div class="copyable">
    <pre tabindex="0">${text}</pre>
    ${'clipboard' in navigator && html`<button class="button small plain" onClick=${copy}>${isCopied ? 'Copied' : 'Copy'}</button>`}
  </div>`;
}
