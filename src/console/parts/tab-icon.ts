import { useEffect } from 'preact/hooks';

/** The icon of the tab, with a dot whose color tells the state of what the page shows. */

const LINK = document.querySelector<HTMLLinkElement>('link[rel=icon]');
const PLAIN = LINK?.href;
let plainText: Promise<string> | undefined;

/** `color` is a color of SVG; without it the icon stays as it is. */
export function useTabIcon(color: string | undefined): void {
  useEffect(() => {
    if (!LINK || PLAIN === undefined || color === undefined) return undefined;
    let isShown = true;
    plainText ??= fetch(PLAIN).then((answer) => answer.text());
    void plainText.then((text) => {
      const dot = `<circle cx="24" cy="24" r="8" fill="${color}" stroke="#fff" stroke-width="2"/></svg>`;
      if (isShown) LINK.href = `data:image/svg+xml,${encodeURIComponent(text.replace('</svg>', dot))}`;
    });
    return () => {
      isShown = false;
      LINK.href = PLAIN;
    };
  }, [color]);
}
