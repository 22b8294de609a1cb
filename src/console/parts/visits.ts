/**
 * What each entry of the history showed when it was left: loaded rows, scroll position and the link with the focus. So Back shows a page as it
 * was. It is kept in memory, for the latest pages, until the console is loaded again.
 */

interface Visit {
  readonly answers: Map<string, unknown>;
  /** Empty until the page is left. */
  address: string;
  scroll: number;
  /** The address of the link that had the focus; undefined until the page is left. */
  focus: string | null | undefined;
}

const MAX_VISITS = 20;
const visits = new Map<string, Visit>();

const idOf = (state: unknown): string | undefined =>
  typeof state === 'object' && state !== null && 'visit' in state ? String(state.visit) : undefined;
/** Unlike a count, it does not come again after a reload. */
const newState = () => ({ visit: String(performance.timeOrigin + performance.now()) });

function currentVisit(): Visit {
  const id = idOf(history.state) ?? '';
  const found: Visit = visits.get(id) ?? { answers: new Map(), address: '', scroll: 0, focus: undefined };
  // The latest one is the last.
  visits.delete(id);
  visits.set(id, found);
  const [oldest] = visits.keys();
  if (visits.size > MAX_VISITS && oldest !== undefined) visits.delete(oldest);
  return found;
}

history.scrollRestoration = 'manual';
if (idOf(history.state) === undefined) history.replaceState(newState(), '');
let current = currentVisit();

function leave(): void {
  current.address = location.href;
  current.scroll = scrollY;
  current.focus = document.activeElement?.getAttribute('href') ?? null;
}

// Before the pages hear of it.
addEventListener('popstate', () => {
  const next = currentVisit();
  if (next === current) return;
  leave();
  current = next;
});

/** Opens a page of the console without loading the console again. */
export function visit(address: string | URL): void {
  leave();
  history.pushState(newState(), '', address);
  current = currentVisit();
  // For filters, if it is the same page.
  dispatchEvent(new PopStateEvent('popstate'));
  scrollTo(0, 0);
}

/** The latest address with this path, and the filters that it had. */
export function latestOf(path: string): string | undefined {
  const addresses = [...visits.values()].map((each) => (each === current ? location.href : each.address));
  return addresses.findLast((address) => URL.parse(address)?.pathname === path);
}

/** What the page had loaded under a name when it was left; undefined if it is open for the first time. */
export const remembered = <Answer>(name: string): Answer | undefined =>
  current.focus === undefined ? undefined : (current.answers.get(name) as Answer | undefined);

export const remember = (name: string, answer: unknown): void => void current.answers.set(name, answer);

/** Scrolls to where this page was left, as soon as it is long enough, unless somebody scrolls first. @returns whether the focus is on its link again */
export function restore(): boolean {
  const { scroll, focus } = current;
  // A page that is opened for the first time has its own place, such as an event.
  if (focus === undefined) return false;
  const stop = new AbortController();
  const { signal } = stop;
  const isThere = () => {
    scrollTo(0, scroll);
    return Math.abs(scrollY - scroll) < 2;
  };
  if (!isThere()) {
    const observer = new ResizeObserver(() => isThere() && stop.abort());
    observer.observe(document.body);
    signal.addEventListener('abort', () => observer.disconnect());
    for (const type of ['wheel', 'keydown', 'pointerdown', 'touchmove', 'popstate'])
      addEventListener(type, () => stop.abort(), { signal, passive: true });
  }
  const link = focus && [...document.querySelectorAll('main a')].find((each) => each.getAttribute('href') === focus);
  if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  return Boolean(link);
}
