import { useEffect, useState } from 'preact/hooks';

/** The event in the middle of the window, where an event that was jumped to is. */
export function useVisibleEvent(): number {
  const [visible, setVisible] = useState(0);
  useEffect(() => {
    let frame = 0;
    const look = () => {
      frame = 0;
      const id = visibleEvent();
      if (id !== undefined) setVisible(id);
    };
    const scrolled = () => (frame ||= requestAnimationFrame(look));
    scrolled();
    addEventListener('scroll', scrolled, { passive: true });
    return () => {
      removeEventListener('scroll', scrolled);
      cancelAnimationFrame(frame);
    };
  }, []);
  return visible;
}

/** Rows can be apart, so several places are tried. */
const STEPS = [0, 24, -24, 80];
/** What is beside the left edge of a row is in it at any width. */
const INSIDE = 60;

function visibleEvent(): number | undefined {
  const { left = 0 } = document.querySelector('.items')?.getBoundingClientRect() ?? {};
  for (const step of STEPS) {
    const found = document.elementFromPoint(left + INSIDE, innerHeight / 2 + step)?.closest('.item');
    if (found) return Number(found.id.replace('event-', ''));
  }
  return undefined;
}
