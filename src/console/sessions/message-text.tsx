import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { markdownOf } from '../parts/markdown.tsx';

/** Longer messages stay plain, because they would take the parser a tenth of a second and more. */
const MAX_MARKDOWN = 10_000;
/** What has none of these is the same with and without Markdown. */
const MAY_BE_MARKDOWN = /[*_`#[\]|~>]|^\s*(?:[-+]|\d+[.)])\s|https?:|\n/m;

/** What is called when an element comes near the window. One observer serves all messages. */
const waiting = new WeakMap<Element, () => void>();
let observer: IntersectionObserver | undefined;

function observe(element: Element, onNear: () => void): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) waiting.get(target)?.();
    },
    { rootMargin: '50% 0px' },
  );
  waiting.set(element, onNear);
  observer.observe(element);
  return () => {
    observer?.unobserve(element);
    waiting.delete(element);
  };
}

/**
 * A message, drawn as Markdown once it comes near the window. Each one is a task of the browser, so that many or slow ones do not freeze the
 * page.
 */
export function MessageText({ text }: { readonly text: string }) {
  const [drawn, setDrawn] = useState<{ readonly text: string; readonly node: VNode | undefined }>();
  const place = useRef<HTMLDivElement>(null);
  const isPlain = text.length > MAX_MARKDOWN || !MAY_BE_MARKDOWN.test(text);
  useEffect(() => {
    const element = place.current;
    if (isPlain || !element) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      stop();
      timer = setTimeout(() => setDrawn({ text, node: markdownOf(text) }));
    };
    const stop = observe(element, draw);
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [text, isPlain]);
  if (isPlain) return <p class="text">{text}</p>;
  const node = drawn?.node;
  // A text that grows keeps its form until the next one is drawn.
  const isShown = node !== undefined && (drawn?.text === text || text.startsWith(drawn?.text ?? text));
  return <div ref={place}>{isShown ? node : <p class="text">{text}</p>}</div>;
}
