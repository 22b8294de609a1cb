import { useEffect, useState } from 'preact/hooks';

/** The event that was jumped to while it is in view, else the one in the middle of the window. */
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
    const jumped = () => requestAnimationFrame(scrolled);
    addEventListener('scroll', scrolled, { passive: true });
    addEventListener('hashchange', jumped);
    return () => {
      removeEventListener('scroll', scrolled);
      removeEventListener('hashchange', jumped);
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
  const wanted = document.querySelector('.item.wanted');
  const place = wanted?.getBoundingClientRect();
  if (wanted && place && place.top < innerHeight && place.bottom > 0) return idOf(wanted);
  const { left = 0 } = document.querySelector('.items')?.getBoundingClientRect() ?? {};
  for (const step of STEPS) {
    const found = document.elementFromPoint(left + INSIDE, innerHeight / 2 + step)?.closest('.item');
    if (found) return idOf(found);
  }
  return undefined;
}

const idOf = (row: Element) => Number(row.id.replace('event-', ''));
