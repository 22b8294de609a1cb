import type { VNode } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { withOrganization } from './address.ts';
import { run } from './api.ts';
import { Rename } from './dialogs.ts';
import { durationOf, usageWords } from './event-content.ts';
import { useFilter } from './filters.ts';

import { HoldWords } from './hold-words.ts';
import { refusalOf, useQuery, useTitleFocus } from './hooks.ts';
import { html, visibleText } from './html.ts';
import { lazy } from './lazy.ts';
import type { Answers } from './operation-types.ts';
import { Action, Badge, Empty, Facts, Faults, Loading, PageFrame, Time, personOf, wordsOf } from './parts.ts';
import { type OnRedacted, RedactTextButton, RedactionContext } from './redaction.ts';
import { SessionForms } from './session-actions.ts';
import { SessionKeeping } from './session-keeping.ts';
import { Results } from './session-results.ts';
import { Timeline } from './session-timeline.ts';
import { type FollowState, follow } from './streams.ts';
import { useTabIcon } from './tab-icon.ts';
import { failureIn, withEvents } from './timeline.ts';

type Session = NonNullable<Answers['Session']['session']>;

const SessionHistory = lazy(async () => (await import('./history.ts')).SessionHistory);

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
  const { databaseId: id, state } = session;
  const hasFailed = state.current === 'FAILED';
  const failure = useFailure(id, hasFailed);
  useChanges(session, reload);
  useTabIcon(ICON_COLORS[state.current]);
  const onArrival = useReloads(reload);
  const isHistory = view === 'history';
  const toErrors = () => {
    setView('');
    errors[1]('yes');
    document.querySelector('.views')?.scrollIntoView();
  };
  const start = failure?.id ?? (hasFailed ? 'latest' : 'first');
  const [redactions, onRedacted] = useRedactions(session, reload);
  return html`<section class="session">
    <${SessionHead} session=${session} reason=${failure?.text} />
    <div class="actions session-actions">
      ${session.viewerCanUpdate && html`<${Changes} session=${session} onChange=${reload} />`}
      <${SessionForms} session=${session} onChange=${reload} />
      <${Exports} id=${id} />
      ${onRedacted && html`<${RedactTextButton} sessionId=${id} onDone=${onRedacted} />`}
      <${SessionKeeping} session=${session} onChange=${reload} />
    </div>
    <${Totals} usage=${session.usage} toErrors=${toErrors} />
    <${Faults} faults=${faults} />
    ${session.description && html`<p class="description">${session.description}</p>`}
    <${Facts} facts=${factsOf(session)} />
    <${Results} id=${id} version=${session.updatedAt} />
    <div class="views" role="group" aria-label="Views">
      <button class="view" aria-pressed=${!isHistory} onClick=${() => setView('')}>Timeline</button>
      <button class="view" aria-pressed=${isHistory} onClick=${() => setView('history')}>History</button>
    </div>
    ${
      isHistory
        ? html`<${SessionHistory} id=${id} />`
        : (!hasFailed || failure !== undefined) &&
          html`<${RedactionContext.Provider} value=${onRedacted}
            ><${Timeline}
              key=${redactions}
              id=${id}
              isFinished=${isFinished(session)}
              start=${start}
              errors=${errors}
              onArrival=${onArrival}
          /><//>`
    }
  </section>`;
}

/** The number of redactions: after each one the session and its timeline are loaded again, at the event that was redacted. */
function useRedactions(
  { viewerCanDelete }: Session,
  reload: () => void,
): readonly [redactions: number, onRedacted: OnRedacted] {
  const [count, setCount] = useState(0);
  const onRedacted = useCallback(
    (event?: number) => {
      if (event !== undefined) history.replaceState(history.state, '', `#event-${event}`);
      setCount((before) => before + 1);
      reload();
    },
    [reload],
  );
  return [count, viewerCanDelete ? onRedacted : undefined];
}

/** What stays in view: which session it is, and how it is. */
function SessionHead({ session, reason }: { readonly session: Session; readonly reason: string | undefined }): VNode {
  useTitleFocus();
  return html`<header class="session-head">
    <h1 id="page-title" tabindex="-1" dir="auto" title=${visibleText(session.title)}>${session.title}</h1>
    <p class="session-state">
      <${Badge} value=${session.state.current} />
      ${session.hold && html`<${Badge} value="HELD" />`}
      ${session.hold && !reason && html`<span>${session.hold.reason}</span>`}
      ${reason && html`<span class="fault reason">${reason}</span>`}
    </p>
  </header>`;
}

/** What the session has cost, the most important first. The number of failures leads to them. */
function Totals({
  usage,
  toErrors,
}: {
  readonly usage: Session['usage'];
  readonly toErrors: () => void;
}): VNode | null {
  const words = usageWords(usage ?? {});
  if (words.length === 0) return null;
  return html`<ul class="totals" aria-label="Totals">
    ${words.map(
      ([name, text]) =>
        html`<li key=${name}>
          ${name === 'toolErrors' ? html`<button class="link" onClick=${toErrors}>${text}</button>` : text}
        </li>`,
    )}
  </ul>`;
}

/** The actions of users who may change the session. */
function Changes({ session, onChange }: { readonly session: Session; readonly onChange: () => void }): VNode {
  const rename = async (title: string) => {
    const answer = await run('RenameSession', { id: session.id, title });
    onChange();
    return refusalOf(answer.data?.updateSession, answer.faults);
  };
  const pin = async () => {
    const answer = await run('PinSession', { id: session.id, isPinned: !session.isPinned });
    onChange();
    return refusalOf(answer.data?.pinSession, answer.faults);
  };
  return html`<${Rename} label="Title" value=${session.title} save=${rename} />
    <${Action} label=${session.isPinned ? 'Unpin' : 'Pin'} run=${pin} />`;
}

const FILES = [
  ['markdown', 'md', 'Export as Markdown'],
  ['ndjson', 'ndjson', 'Export as NDJSON'],
] as const;

/** The files come over REST, with the sign-in of the browser. */
function Exports({ id }: { readonly id: string }): VNode {
  return html`${FILES.map(([format, extension, label]) => {
    const path = `/v1/sessions/${id}/export?format=${format}`;
    // A link cannot name the organization of this tab; a request can.
    if (withOrganization(path) !== path)
      return html`<${Action}
        label=${label}
        run=${async () => (await import('./download.ts')).download({ path, name: `session-${id}.${extension}` })}
      />`;
    return html`<a class="button small plain" href=${path} download>${label}</a>`;
  })}`;
}

function isFinished({ state }: Session): boolean {
  return state.current !== 'QUEUED' && state.current !== 'IN_PROGRESS';
}

function factsOf(session: Session): readonly (readonly [string, unknown])[] {
  const { createdAt, lastSeenAt } = session;
  const hasEnded = isFinished(session);
  const took = Date.parse(lastSeenAt) - Date.parse(createdAt);
  return [
    ['Agent', session.agent],
    ['Created by', session.creator && personOf(session.creator)],
    ['Project', session.project?.name],
    ['Visibility', wordsOf(session.visibility)],
    ['Hold', session.hold && html`<${HoldWords} hold=${session.hold} />`],
    ['Branch', session.branchName],
    ['Transcript', session.source && `${session.source.agent} ${session.source.id}`],
    ['Changes', session.diffSummary && `+${session.diffSummary.additions} −${session.diffSummary.deletions}`],
    ['Created', html`<${Time} at=${createdAt} />`],
    [hasEnded ? 'Finished' : 'Last recorded', html`<${Time} at=${lastSeenAt} />`],
    ['Took', hasEnded && took > 0 && !session.source ? durationOf(took) : undefined],
  ];
}

interface Failure {
  readonly id?: number;
  readonly text?: string;
}

const NO_FAILURE: Failure = {};

/** The last error of a failed session; an empty object if none was recorded, undefined until that is known. */
function useFailure(id: string, hasFailed: boolean): Failure | undefined {
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    if (!hasFailed) return setFailure(undefined);
    return void run('SessionEvents', { id, last: 1, filter: { isError: true } }).then(({ data }) =>
      setFailure(failureIn(withEvents([], data?.sessionEvents?.nodes ?? [])) ?? NO_FAILURE),
    );
  }, [id, hasFailed]);
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
