import type { ComponentType, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { run } from './api.ts';
import { useFilter } from './filters.ts';
import { useQuery } from './hooks.ts';
import { html, visibleText } from './html.ts';
import { lazy } from './lazy.ts';
import type { Answers } from './operation-types.ts';
import { Empty, Faults, Loading, PageFrame } from './parts.ts';
import { RedactionContext } from './redaction.ts';
import { SessionHead } from './session-head.ts';
import type { Outline, OutlineReader } from './session-outline.ts';
import { type Shown, Timeline } from './session-timeline.ts';
import { type FollowState, follow } from './streams.ts';
import { useTabIcon } from './tab-icon.ts';
import { failureIn, withEvents } from './timeline.ts';

type Session = NonNullable<Answers['Session']['session']>;

const SessionHistory = lazy(async () => (await import('./history.ts')).SessionHistory);
const SessionDetails = lazy(async () => (await import('./session-details.ts')).SessionDetails);
const SessionFigures = lazy(async () => (await import('./session-figures.ts')).SessionFigures);
const SessionFiles = lazy(async () => (await import('./session-files.ts')).SessionFiles);
const Results = lazy(async () => (await import('./session-results.ts')).Results, null);

export function SessionPage({ id }: { readonly id: string }): VNode {
  const { data, faults, isLoading, paused, reload } = useQuery('Session', { id });
  const session = data?.session;
  useEffect(() => {
    if (session) document.title = visibleText(`${shortTitle(session.title)} – Workspace gateway`);
  }, [session?.title]);
  const wasShown = useRef(false);
  if (session) wasShown.current = true;
  if (!session) {
    const words = wasShown.current
      ? 'This session was deleted, or you can no longer read it.'
      : 'There is no such session, or you cannot read it.';
    const missing = html`<${Empty}>${words} <a href="/sessions">All sessions</a><//>`;
    return html`<${PageFrame} title="Session">
      <${Faults} faults=${faults} />
      ${isLoading ? html`<${Loading} paused=${paused} />` : faults.length === 0 && missing}
    <//>`;
  }
  return html`<${Content} session=${session} reload=${reload} faults=${faults} />`;
}

const MAX_TITLE = 80;
/** The dot on the icon of the tab, so that a session can be watched from another tab. */
const ICON_COLORS: Readonly<Partial<Record<Session['state']['current'], string>>> = {
  IN_PROGRESS: '#f2b705',
  COMPLETED: '#1f9d55',
  FAILED: '#d92d20',
};

function shortTitle(title: string): string {
  return title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE).toWellFormed()}…` : title;
}

interface ContentProps {
  readonly session: Session;
  readonly reload: () => void;
  readonly faults: Parameters<typeof Faults>[0]['faults'];
}

function Content({ session, reload, faults }: ContentProps): VNode {
  const [view, setView] = useFilter('view');
  const errors = useFilter('errors');
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState<Shown>(false);
  const { databaseId: id, state } = session;
  const hasFailed = state.current === 'FAILED';
  const failure = useFailure(session, hasFailed);
  useChanges(session, reload);
  useTabIcon(ICON_COLORS[state.current]);
  const onArrival = useReloads(reload);
  const onRedacted = session.viewerCanDelete ? reload : undefined;
  const outline = useOutline(session, shown === 'events' || view !== '');
  const models = outline?.models ?? [];
  const toErrors = () => {
    setView('');
    errors[1]('yes');
    document.querySelector('.views')?.scrollIntoView();
  };
  const OtherView = OTHER_VIEWS.get(view);
  const start = failure?.id ?? (hasFailed || state.current === 'IN_PROGRESS' ? 'latest' : 'first');
  return html`<section class="session">
    <${SessionHead} ...${{ session, reason: failure?.text, models, toErrors, isOpen, setOpen }} />
    ${isOpen && html`<${SessionDetails} ...${{ session, reason: failure?.text, isFinished: isFinished(session), models, onChange: reload, onRedacted }} />`}
    <${Faults} faults=${faults} />
    ${(shown || view !== '') && html`<${Results} id=${id} version=${session.updatedAt} />`}
    <div class="views" role="group" aria-label="Views">
      ${VIEWS.map(
        ([name, label]) =>
          html`<button key=${name} class="view" aria-pressed=${view === name} onClick=${() => setView(name)}>
            ${label}
          </button>`,
      )}
    </div>
    ${
      OtherView
        ? html`<${OtherView} id=${id} outline=${outline} session=${session} />`
        : (!hasFailed || failure !== undefined) &&
          html`<${RedactionContext.Provider} value=${onRedacted}
            ><${Timeline}
              id=${id}
              isFinished=${isFinished(session)}
              redactedAt=${session.redactedAt}
              start=${start}
              errors=${errors}
              outline=${outline}
              onArrival=${onArrival}
              onShown=${setShown}
          /><//>`
    }
  </section>`;
}

const VIEWS = [
  ['', 'Timeline'],
  ['figures', 'Figures'],
  ['files', 'Files'],
  ['history', 'History'],
] as const;

const OTHER_VIEWS = new Map<string, ComponentType<ViewProps>>([
  ['figures', SessionFigures],
  ['files', SessionFiles],
  ['history', SessionHistory],
]);

interface ViewProps {
  readonly id: string;
  readonly session: Session;
  readonly outline: Outline | undefined;
}

/** What happens in the session as a whole. It is read once events are shown, and goes on whenever the session is loaded again. */
function useOutline(session: Session, isWanted: boolean): Outline | undefined {
  const [outline, setOutline] = useState<Outline>();
  const reader = useRef<OutlineReader>(undefined);
  const { databaseId: id, redactedAt } = session;
  useEffect(() => {
    // What was read before a redaction may have what was redacted.
    setOutline(undefined);
    if (!isWanted) return undefined;
    const left = new AbortController();
    void import('./session-outline.ts').then(({ createOutlineReader }) => {
      if (left.signal.aborted) return;
      reader.current = createOutlineReader(id, setOutline, left.signal);
      reader.current.readOn();
    });
    return () => left.abort();
  }, [id, isWanted, redactedAt]);
  useEffect(() => reader.current?.readOn(), [session]);
  return outline;
}

function isFinished({ state }: Session): boolean {
  return state.current !== 'QUEUED' && state.current !== 'IN_PROGRESS';
}

interface Failure {
  readonly id?: number;
  readonly text?: string;
}

const NO_FAILURE: Failure = {};

/** The last error of a failed session; an empty object if none was recorded, undefined until that is known. */
function useFailure({ databaseId: id, redactedAt }: Session, hasFailed: boolean): Failure | undefined {
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    if (!hasFailed) return setFailure(undefined);
    return void run('SessionEvents', { id, last: 1, filter: { isError: true } }).then(({ data }) =>
      setFailure(failureIn(withEvents([], data?.sessionEvents?.nodes ?? [])) ?? NO_FAILURE),
    );
  }, [id, hasFailed, redactedAt]);
  return hasFailed ? failure : NO_FAILURE;
}

/** Loads the session again when anybody changed it, and whenever the subscription starts, because earlier changes would be missing. */
function useChanges({ databaseId, id, createdAt }: Session, reload: () => void): void {
  useEffect(() => {
    // Almost only this session was created at that time.
    const filter = { createdFrom: createdAt, createdBefore: new Date(Date.parse(createdAt) + 1).toISOString() };
    const onData = ({ sessionChange: change }: Answers['FollowSessionRow']) => {
      const changed = change.__typename === 'SessionChanged' ? change.session.id : change.sessionId;
      if (changed === id) reload();
    };
    const onState = (state: FollowState) => {
      if (state === 'live') reload();
    };
    return follow('FollowSessionRow', { filter }, { onData, onState });
  }, [databaseId, reload]);
}

const RELOAD_MS = 5000;

/** Loads the session again a moment after events have arrived, for its totals. */
function useReloads(reload: () => void): (count: number) => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (count) => {
    if (count === 0 || timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      reload();
    }, RELOAD_MS);
  };
}
