import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.ts';
import { Empty, Faults } from './parts.ts';
import { type LiveState, useSessionEvents } from './session-events.ts';
import { type TimelineEvent, type TimelineItem, withEvents } from './timeline.ts';
import { TimelineRow, dayOf, isSameDay } from './timeline-row.ts';

const LIVE_WORDS: Readonly<Record<LiveState, string>> = {
  loading: 'Loading…',
  live: 'Live: new events appear by themselves.',
  reconnecting: 'The connection was lost; reconnecting…',
  paused: 'New events wait: the limit of this minute is used up.',
  ended: 'The session is finished.',
  refused: 'You cannot follow this session.',
  gone: 'This session no longer sends you its events.',
};

export function Timeline({ id, onEnd }: { readonly id: string; readonly onEnd: () => void }): VNode {
  const wanted = Number(/^#event-(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const { loaded, faults, live, loadLatest, loadLater, loadEarlier } = useSessionEvents(id, wanted, onEnd);
  const items = useItems(loaded.events);
  useEffect(() => {
    if (wanted > 0) document.getElementById(`event-${wanted}`)?.scrollIntoView({ block: 'center' });
  }, [loaded.events.length > 0]);
  return html`<section class="timeline" aria-labelledby="timeline-title">
    <div class="timeline-head">
      <h2 id="timeline-title">Timeline</h2>
      ${
        loaded.hasLater
          ? html`<button class="button small plain" onClick=${loadLatest}>Go to the latest events</button>`
          : html`<span class="live ${live}" role="status">${LIVE_WORDS[live]}</span>`
      }
    </div>
    <${Faults} faults=${faults} />
    ${loaded.hasEarlier && html`<${More} label="Earlier events" load=${loadEarlier} />`}
    ${loaded.events.length === 0 && live !== 'loading' && html`<${NoEvents} id=${id} />`}
    <${Items} items=${items} sessionId=${id} wanted=${wanted} />
    ${loaded.hasLater && html`<${More} label="Later events" load=${loadLater} isAutomatic />`}
  </section>`;
}

function NoEvents({ id }: { readonly id: string }): VNode {
  return html`<${Empty} command=${`npm run --silent cli -- events import --session ${id} run.ndjson`}
    >No events have been recorded yet. A runner appends them over the API; or import a file:<//
  >`;
}

interface ItemsProps {
  readonly items: readonly TimelineItem[];
  readonly sessionId: string;
  readonly wanted: number;
}

/** The items, with a heading for each day. */
function Items({ items, sessionId, wanted }: ItemsProps): VNode {
  const rows = items.flatMap((item, index) => {
    const isWanted = wanted >= item.id && wanted <= item.lastId && wanted > 0;
    const row = html`<${TimelineRow} key=${item.id} item=${item} sessionId=${sessionId} isWanted=${isWanted} />`;
    if (isSameDay(item, items[index - 1])) return [row];
    return [html`<li key=${`day ${item.id}`} class="day">${dayOf(item)}</li>`, row];
  });
  return html`<ol class="items">
    ${rows}
  </ol>`;
}

interface Made {
  readonly events: readonly TimelineEvent[];
  readonly items: TimelineItem[];
}

/** The timeline items of events. When events are appended, only these are processed. */
function useItems(events: readonly TimelineEvent[]): readonly TimelineItem[] {
  const made = useRef<Made>({ events: [], items: [] });
  const { current: before } = made;
  if (events !== before.events) {
    const known = before.events.length;
    const isAppended = known > 0 && events[0] === before.events[0] && events[known - 1] === before.events[known - 1];
    const items = isAppended ? withEvents(before.items, events.slice(known)) : withEvents([], events);
    made.current = { events, items };
  }
  return made.current.items;
}

interface MoreProps {
  readonly label: string;
  readonly load: () => Promise<void>;
  readonly isAutomatic?: boolean;
}

/** A button for another page. With `isAutomatic` it loads when it scrolls into view. */
function More({ label, load, isAutomatic = false }: MoreProps): VNode {
  const button = useRef<HTMLButtonElement>(null);
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await load();
    setBusy(false);
  };
  useEffect(() => {
    if (!isAutomatic || isBusy || !button.current) return undefined;
    const observer = new IntersectionObserver(([entry]) => void (entry?.isIntersecting && press()), {
      rootMargin: '600px',
    });
    observer.observe(button.current);
    return () => observer.disconnect();
  });
  return html`<button ref=${button} class="button plain more" disabled=${isBusy} onClick=${press}>
    ${isBusy ? 'Loading…' : label}
  </button>`;
}
