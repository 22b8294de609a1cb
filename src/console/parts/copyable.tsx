import { useState } from 'preact/hooks';
import { Button } from './button.tsx';

/** Copies a text, if the browser allows that: over HTTPS and on localhost. */
export function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  if (!('clipboard' in navigator)) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return <Button onClick={() => void copy()}>{isCopied ? 'Copied' : 'Copy'}</Button>;
}

export const Copyable = ({ text }: { readonly text: string }) => (
  <div class="copyable">
    <pre tabindex={0}>{text}</pre>
    <CopyButton text={text} />
  </div>
);
