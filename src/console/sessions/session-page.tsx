import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { run } from '../parts/api.ts';
import { useFilter } from '../parts/filters.tsx';
import { type Reload, useQuery } from '../parts/hooks.ts';
import { visibleText } from '../parts/markup.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Faults, Missing } from '../parts/parts.tsx';
import { RedactionContext } from './redaction.tsx';
import { SessionHead } from './session-head.tsx';
import { type Outline, type OutlineReader, createOutlineReader } from './session-outline.ts';
import { type Shown, Timeline } from './session-timeline.tsx';
import { type FollowState, follow } from '../parts/streams.ts';
import { useTabIcon } from '../parts/tab-icon.ts';
import { SessionHistory } from '../audit-log/history.tsx';
import { SessionDetails } from './session-details.tsx';
import { SessionFigures } from './session-figures.tsx';
import { SessionFiles } from './session-files.tsx';
import { Results } from './session-results.tsx';

type Session = NonNullable<Answers['Session']['session']>;

export function SessionPage({ id }: { readonly id: string }) {
  const query = useQuery('Session', { id });
  const { data, faults, reload } = query;
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
    return (
      <Missing title="Session" query={query}>
        {words} <a href="/sessions">All sessions</a>
      </Missing>
    );
  }
  return <Content session={session} reload={reload} faults={faults} />;
}

const MAX_TITLE = 80;
/** The dot on the icon of the tab, so that a session can be watched from another tab. */
const ICON_COLORS: Readonly<Partial<Record<Session['state']['current'], string>>> = {
  IN_PROGRESS: '#f2b705',
  COMPLETED: '#1f9d55',
  FAILED: '#d92d20',
};

const shortTitle = (title: string): string =>
  title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE).toWellFormed()}…` : title;

interface ContentProps {
  readonly session: Session;
  readonly reload: Reload;
  readonly faults: Parameters<typeof Faults>[0]['faults'];
}

function Content({ session, reload, faults }: ContentProps) {
  const [view, setView] = useFilter('view');
  const errors = useFilter('errors');
  const [isOpen, setOpen] = useState(false);
  const [events, setEvents] = useState<Shown>(false);
  const { databaseId: id, state } = session;
  const hasFailed = state.current === 'FAILED';
  const failure = useFailure(session, hasFailed);
  useChanges(session, reload);
  useTabIcon(ICON_COLORS[state.current]);
  const onArrival = useReloads(reload);
  const onRedacted = session.viewerCanDelete ? reload : undefined;
  const outline = useOutline(session, events === 'events' || view !== '');
  const shown = { session, reason: failure?.reason, models: outline?.models ?? [] };
  const hasEnded = isFinished(session);
  const toErrors = () => {
    setView('');
    errors[1]('yes');
    document.querySelector('.views')?.scrollIntoView();
  };
  const OtherView = OTHER_VIEWS.get(view);
  const start = failure?.id ?? (hasFailed || state.current === 'IN_PROGRESS' ? 'latest' : 'first');
  return (
    <section class="session">
      <SessionHead {...shown} toErrors={toErrors} onChange={reload} isOpen={isOpen} setOpen={setOpen} />
      {isOpen && <SessionDetails {...shown} isFinished={hasEnded} />}
      <Faults faults={faults} />
      {(events || view !== '') && <Results id={id} version={session.updatedAt} />}
      <div class="views" role="group" aria-label="Views">
        {VIEWS.map(([name, label]) => (
          <button key={name} class="view" aria-pressed={view === name} onClick={() => setView(name)}>
            {label}
          </button>
        ))}
      </div>
      {OtherView ? (
        <OtherView id={id} outline={outline} session={session} />
      ) : (
        (!hasFailed || failure !== undefined) && (
          <RedactionContext.Provider value={onRedacted}>
            <Timeline
              id={id}
              isFinished={hasEnded}
              redactedAt={session.redactedAt}
              start={start}
              errors={errors}
              outline={outline}
              turns={session.turns}
              onArrival={onArrival}
              onShown={setEvents}
            />
          </RedactionContext.Provider>
        )
      )}
    </section>
  );
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
    reader.current = createOutlineReader(id, setOutline, left.signal);
    reader.current.readOn();
    return () => left.abort();
  }, [id, isWanted, redactedAt]);
  useEffect(() => reader.current?.readOn(), [session]);
  return outline;
}

const isFinished = ({ state }: Session): boolean => state.current !== 'QUEUED' && state.current !== 'IN_PROGRESS';

interface Failure {
  /** The entry that failed. */
  readonly id?: number;
  readonly reason?: string;
}

const NO_FAILURE: Failure = {};

/** Why a failed session failed; an empty object if nothing says so, undefined until that is known. */
function useFailure({ databaseId: id, redactedAt }: Session, hasFailed: boolean): Failure | undefined {
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    if (!hasFailed) return setFailure(undefined);
    return void run('SessionFailure', { id }).then(({ data }) => {
      const { failureReason: reason, entries } = data?.session ?? {};
      const [entry] = entries?.nodes ?? [];
      setFailure(reason != null && entry ? { id: Number(entry.databaseId), reason } : NO_FAILURE);
    });
  }, [id, hasFailed, redactedAt]);
  return hasFailed ? failure : NO_FAILURE;
}

/** Loads the session again when anybody changed it, and whenever the subscription starts, because earlier changes would be missing. */
function useChanges({ databaseId, id, createdAt }: Session, reload: Reload): void {
  useEffect(() => {
    // Almost only this session was created at that time.
    const filter = { createdFrom: createdAt, createdBefore: new Date(Date.parse(createdAt) + 1).toISOString() };
    const onData = ({ sessionChange: change }: Answers['FollowSessionRow']) => {
      const changed = change.__typename === 'SessionChanged' ? change.session.id : change.sessionId;
      if (changed === id) reload('quiet');
    };
    const onState = (state: FollowState) => {
      if (state === 'live') reload('quiet');
    };
    return follow('FollowSessionRow', { filter }, { onData, onState });
  }, [databaseId, reload]);
}

const RELOAD_MS = 5000;

/** Loads the session again a moment after events have arrived, for its totals. */
function useReloads(reload: Reload): (count: number) => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (count) => {
    if (count === 0 || timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      reload('quiet');
    }, RELOAD_MS);
  };
}
