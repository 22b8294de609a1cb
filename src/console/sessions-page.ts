import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { run } from './api.ts';
import { useScope } from './caller.ts';
import { ChoiceField, Filters, SearchField, useFilter, useSettled } from './filters.ts';
import { type Pages, refusalOf, usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { CreateSessionButton, SessionForms } from './session-actions.ts';
import { Action, Badge, Empty, List, PageFrame, Time, wordsOf } from './parts.ts';
import { type FollowState, follow } from './streams.ts';

type Row = NonNullable<NonNullable<Answers['Sessions']['viewer']['organization']>['sessions']>['nodes'][number];
type StateName = Row['state']['current'];
type Visibility = Row['visibility'];

const STATES: readonly StateName[] = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'];
const VISIBILITIES: readonly Visibility[] = ['PUBLIC', 'PRIVATE'];
const HEAD = ['Title', 'State', 'Agent', 'Updated', ''];

interface Wanted {
  readonly title: string;
  readonly state: StateName | undefined;
  readonly visibility: Visibility | undefined;
  readonly isPinned: boolean;
}

export function SessionsPage(): VNode {
  const mayCreate = useScope('SESSIONS_RECORD');
  const [title, setTitle] = useFilter('title');
  const [state, setState] = useFilter('state');
  const [visibility, setVisibility] = useFilter('visibility');
  const [pinned, setPinned] = useFilter('pinned');
  const wanted: Wanted = {
    title: useSettled(title),
    state: STATES.find((each) => each === state),
    visibility: VISIBILITIES.find((each) => each === visibility),
    isPinned: pinned !== '',
  };
  const filter = {
    ...(wanted.title && { title: wanted.title }),
    ...(wanted.state && { states: [wanted.state] }),
    ...(wanted.visibility && { visibilities: [wanted.visibility] }),
    ...(wanted.isPinned && { isPinned: true }),
  };
  const list = usePages('Sessions', { first: 50, filter }, ({ viewer }) => viewer.organization?.sessions);
  const live = useLiveRows(list, wanted);
  const isFiltered = Object.keys(filter).length > 0;
  const empty = isFiltered
    ? html`<${Empty}>No session matches this filter.<//>`
    : html`<${Empty}
        command="curl -o record.mjs ${location.origin}/record.mjs && node record.mjs -- codex exec --json …"
        >No sessions yet. ${mayCreate && 'Create one here, or record an agent: '}
        <a href="/docs">every way to record</a><//
      >`;
  return html`<${PageFrame}
    title="Sessions"
    intro="The sessions of your agents. The list updates itself."
    actions=${mayCreate && html`<${CreateSessionButton} />`}
  >
    <${Filters}>
      <${SearchField} label="Title" value=${title} onChange=${setTitle} />
      <${ChoiceField} label="State" value=${state} onChange=${setState} choices=${choicesOf(STATES)} />
      <${ChoiceField} label="Visible to" value=${visibility} onChange=${setVisibility} choices=${VISIBLE_TO} />
      <label class="check"
        ><input
          type="checkbox"
          checked=${wanted.isPinned}
          onChange=${(event: Event) => setPinned((event.target as HTMLInputElement).checked ? 'yes' : '')}
        />Pinned</label
      >
    <//>
    ${live !== undefined && html`<p class="notice" role="status">${live}</p>`}
    <${List}
      label="Sessions"
      list=${list}
      row=${(session: Row) => rowOf(session, list.reload)}
      empty=${empty}
      head=${HEAD}
    />
  <//>`;
}

const VISIBLE_TO = [
  ['', 'Anybody'],
  ['PUBLIC', 'The organization'],
  ['PRIVATE', 'Its creator and admins'],
] as const;

function choicesOf(values: readonly string[]) {
  return [['', 'Any'], ...values.map((value) => [value, wordsOf(value)] as const)] as const;
}

function rowOf(session: Row, onDone: () => void): VNode {
  return html`<tr key=${session.id}>
    <td class="wide">
      <a href=${`/sessions/${session.databaseId}`}
        >${session.isPinned && html`<span role="img" aria-label="Pinned">★ </span>`}${session.title}</a
      >
      ${session.project && html`<span class="soft"> ${session.project.name}</span>`}
    </td>
    <td><${Badge} value=${session.state.current} /></td>
    <td>${session.agent ?? html`<span class="soft">–</span>`}</td>
    <td><${Time} at=${session.updatedAt} /></td>
    <td class="end">
      <div class="actions">
        <${SessionForms} session=${session} onChange=${onDone} />
        ${session.viewerCanUpdate && html`<${PinAction} session=${session} onDone=${onDone} />`}
      </div>
    </td>
  </tr>`;
}

/**
 * Moves changed sessions to the top. The list is loaded again whenever the subscription starts, at first and after a
 * lost connection, because earlier changes would be missing.
 * @returns why the list does not follow at present, if it does not
 */
function useLiveRows({ update, reload }: Pages<Row>, wanted: Wanted): string | undefined {
  const [words, setWords] = useState<string | undefined>(undefined);
  const current = useRef(wanted);
  current.current = wanted;
  useEffect(() => {
    const onData = ({ sessionChanged: changed }: Answers['SessionChanged']) =>
      update((rows) => {
        const others = rows.filter(({ id }) => id !== changed.id);
        return !changed.left && isWanted(changed, current.current) ? [changed, ...others] : others;
      });
    const onState = (state: FollowState, reason = 'no reason was given') => {
      if (state === 'live') reload();
      setWords(LIVE_WORDS[state]?.(reason));
    };
    return follow('SessionChanged', {}, { onData, onState });
  }, [update, reload]);
  return words;
}

const LIVE_WORDS: Readonly<Partial<Record<FollowState, (reason: string) => string>>> = {
  reconnecting: () => 'The connection was lost. The list is updated as soon as it is back.',
  paused: (reason) => `The list waits before it updates itself again: ${reason}`,
  ended: () => 'The list no longer updates itself. Reload the page.',
  refused: (reason) => `The list does not update itself: ${reason}`,
  gone: (reason) => `The list no longer updates itself, because you may not read it any more: ${reason}`,
};

/** Applies the filter of the list to a session from the subscription. */
function isWanted(session: Row, { title, state, visibility, isPinned }: Wanted): boolean {
  return (
    session.title.toLowerCase().includes(title.toLowerCase()) &&
    (state === undefined || session.state.current === state) &&
    (visibility === undefined || session.visibility === visibility) &&
    (!isPinned || session.isPinned)
  );
}

function PinAction({ session, onDone }: { readonly session: Row; readonly onDone: () => void }): VNode {
  const pin = async () => {
    const answer = await run('PinSession', { id: session.id, isPinned: !session.isPinned });
    onDone();
    return refusalOf(answer.data?.pinSession, answer.faults);
  };
  return html`<${Action} label=${session.isPinned ? 'Unpin' : 'Pin'} run=${pin} />`;
}
