import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, follow, run } from './api.ts';
import { Rename } from './dialogs.ts';
import { refusalOf, useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Action, Badge, Empty, Facts, Faults, Loading, PageFrame, Time, personOf, wordsOf } from './parts.ts';
import { type TimelineEvent, type TimelineItem, withEvents } from './timeline.ts';
import { TimelineRow, dayOf, isSameDay } from './timeline-row.ts';

const PAGE = 200;
/** Rows that are in the page at once: earlier ones leave when later ones come, and are read again when somebody scrolls back. */
const MAX_EVENTS = 4000;

export function SessionPage({ id }: { readonly id: string }): VNode {
  const { data, faults, isLoading, reload } = useQuery('Session', { id });
  const session = data?.session;
  useEffect(() => {
    if (session) document.title = `${session.title} – Workspace gateway`;
  }, [session?.title]);
  if (!session) {
    return html`<${PageFrame} title="Session">
      <${Faults} faults=${faults} />
      ${
        isLoading
          ? html`<${Loading} />`
          : faults.length === 0 &&
            html`<${Empty}>There is no such session, or you cannot read it. <a href="/sessions">All sessions</a><//>`
      }
    <//>`;
  }
  const rename = async (title: string) => {
    const answer = await run('RenameSession', { id: session.id, title });
    reload();
    return refusalOf(answer.data?.updateSession, answer.faults);
  };
  const pin = async () => {
    const answer = await run('PinSession', { id: session.id, isPinned: !session.isPinned });
    reload();
    return refusalOf(answer.data?.pinSession, answer.faults);
  };
  const actions =
    session.viewerCanUpdate &&
    html`<${Rename} label="Title" value=${session.title} save=${rename} />
      <${Action} label=${session.isPinned ? 'Unpin' : 'Pin'} run=${pin} />`;
  const facts: [string, unknown][] = [
    ['Agent', session.agent],
    ['Created by', session.creator && personOf(session.creator)],
    ['Project', session.project?.name],
    ['Visibility', wordsOf(session.visibility)],
    ['Branch', session.branchName],
    ['Changes', session.diffSummary && `+${session.diffSummary.additions} −${session.diffSummary.deletions}`],
    ['Updated', html`<${Time} at=${session.updatedAt} />`],
  ];
  return html`<${PageFrame} title=${session.title} actions=${actions}>
    <p><${Badge} value=${session.state.current} /></p>
    <${Faults} faults=${faults} />
    ${session.description && html`<p class="description">${session.description}</p>`}
    <${Facts} facts=${facts} />
    <${Artifacts} artifacts=${session.artifacts ?? []} />
    <${Timeline} id=${session.databaseId} onEnd=${reload} />
  <//>`;
}

interface Artifact {
  readonly type: string;
  readonly pullRequests: readonly {
    readonly databaseId: string;
    readonly title: string;
    readonly url: string;
    readonly status: string;
  }[];
}

function Artifacts({ artifacts }: { readonly artifacts: readonly Artifact[] }): VNode | null {
  const pulls = artifacts.flatMap(({ pullRequests }) => pullRequests);
  if (pulls.length === 0) return null;
  return html`<ul class="pulls" aria-label="Pull requests">
    ${pulls.map(({ databaseId, title, url, status }) => html`<li key=${databaseId}><${Badge} value=${status} /> <a href=${safeLink(url)} rel="noreferrer">${title}</a></li>`)}
  </ul>`;
}

/** An address that somebody else wrote leads somewhere only over HTTP. */
function safeLink(url: string): string | undefined {
  return /^https?:/i.test(url) ? url : undefined;
}

type Live = 'loading' | 'live' | 'reconnecting' | 'ended';
const LIVE_WORDS: Readonly<Record<Live, string>> = {
  loading: 'Loading…',
  live: 'Live: new events appear by themselves.',
  reconnecting: 'The connection was lost; trying again…',
  ended: 'The session is finished.',
};

interface Loaded {
  readonly events: readonly TimelineEvent[];
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
}

const NOTHING: Loaded = { events: [], hasEarlier: false, hasLater: false };

function Timeline({ id, onEnd }: { readonly id: string; readonly onEnd: () => void }): VNode {
  const wanted = Number(/^#event-(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const [loaded, setLoaded] = useState(NOTHING);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [live, setLive] = useState<Live>('loading');
  const items = useRef<{ events: readonly TimelineEvent[]; items: TimelineItem[] }>({ events: [], items: [] });

  const load = async (page: { first?: number; after?: string; last?: number; before?: string }) => {
    const { data, faults: found } = await run('SessionEvents', { id, ...page });
    setFaults(found);
    return data?.session?.events ?? null;
  };
  const cursorOf = (eventId: number) => String(eventId);

  const start = async (from: 'begin' | 'end') => {
    setLoaded(NOTHING);
    const page =
      from === 'end' ? { last: PAGE } : { first: PAGE, ...(wanted > 20 && { after: cursorOf(wanted - 20) }) };
    const events = await load(page);
    if (!events) return;
    setLoaded({
      events: events.nodes,
      hasEarlier: events.pageInfo.hasPreviousPage || wanted > 20,
      hasLater: events.pageInfo.hasNextPage,
    });
  };
  useEffect(() => void start('begin'), [id]);

  const isAtEnd = !loaded.hasLater;
  const lastId = loaded.events.at(-1)?.databaseId ?? 0;
  useEffect(() => {
    if (!isAtEnd || (live === 'loading' && loaded === NOTHING)) return undefined;
    let waiting: TimelineEvent[] = [];
    let frame = 0;
    const draw = () => {
      frame = 0;
      const arrived = waiting;
      waiting = [];
      setLoaded((before) => bounded({ ...before, events: [...before.events, ...arrived] }));
    };
    const stop = follow(
      'FollowSession',
      { id, after: cursorOf(lastId) },
      {
        onData: ({ sessionEvents }) => {
          waiting.push(sessionEvents);
          frame ||= requestAnimationFrame(draw);
        },
        onState: (state) => {
          setLive(state);
          if (state === 'ended') onEnd();
        },
      },
    );
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [id, isAtEnd, loaded === NOTHING]);

  const later = async () => {
    const events = await load({ first: PAGE, after: cursorOf(lastId) });
    if (events) {
      setLoaded((before) =>
        bounded({ ...before, events: [...before.events, ...events.nodes], hasLater: events.pageInfo.hasNextPage }),
      );
    }
  };
  const earlier = async () => {
    const first = loaded.events[0]?.databaseId ?? 1;
    const events = await load({ last: PAGE, before: cursorOf(first) });
    if (events) {
      setLoaded((before) => {
        const all = [...events.nodes, ...before.events];
        return {
          events: all.slice(0, MAX_EVENTS),
          hasEarlier: events.pageInfo.hasPreviousPage,
          hasLater: before.hasLater || all.length > MAX_EVENTS,
        };
      });
    }
  };

  items.current = itemsOf(loaded.events, items.current);
  useEffect(() => {
    if (wanted > 0) document.getElementById(`event-${wanted}`)?.scrollIntoView({ block: 'center' });
  }, [loaded.events.length > 0]);

  return html`<section class="timeline" aria-labelledby="timeline-title">
    <div class="timeline-head">
      <h2 id="timeline-title">Timeline</h2>
      ${
        loaded.hasLater
          ? html`<button class="button small plain" onClick=${() => start('end')}>Go to the latest events</button>`
          : html`<span class="live ${live}" role="status">${LIVE_WORDS[live]}</span>`
      }
    </div>
    <${Faults} faults=${faults} />
    ${loaded.hasEarlier && html`<${More} label="Earlier events" load=${earlier} />`}
    ${loaded.events.length === 0 && live !== 'loading' && html`<${Empty} command=${`npm run --silent cli -- events import --session ${id} run.ndjson`}>No events have been recorded yet. A runner appends them over the API; or import a file:<//>`}
    <ol class="items">
      ${items.current.items.flatMap((item, index, all) => {
        const isWanted = wanted >= item.id && wanted <= item.lastId && wanted > 0;
        const row = html`<${TimelineRow} key=${item.id} item=${item} sessionId=${id} isWanted=${isWanted} />`;
        return isSameDay(item, all[index - 1])
          ? [row]
          : [html`<li key=${`day ${item.id}`} class="day">${dayOf(item)}</li>`, row];
      })}
    </ol>
    ${loaded.hasLater && html`<${More} label="Later events" load=${later} isAutomatic />`}
  </section>`;
}

/** Keeps the page small: what was there first leaves it. */
function bounded(loaded: Loaded): Loaded {
  const over = loaded.events.length - MAX_EVENTS;
  return over <= 0 ? loaded : { ...loaded, events: loaded.events.slice(over), hasEarlier: true };
}

/** The items of events; where events were only added, only those are worked through. */
function itemsOf(
  events: readonly TimelineEvent[],
  before: { events: readonly TimelineEvent[]; items: TimelineItem[] },
) {
  if (events === before.events) return before;
  const known = before.events.length;
  const isLonger = known > 0 && events[0] === before.events[0] && events[known - 1] === before.events[known - 1];
  const items = isLonger ? withEvents(before.items, events.slice(known)) : withEvents([], events);
  return { events, items };
}

interface MoreProps {
  readonly label: string;
  readonly load: () => Promise<void>;
  readonly isAutomatic?: boolean;
}

/** A button for the next page, which presses itself when it comes into view. */
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
