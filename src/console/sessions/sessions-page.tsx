import { useEffect, useRef, useState } from 'preact/hooks';
import { query } from '../parts/api.ts';
import { useScope } from '../parts/caller.ts';
import { ChoiceField, Filters, InputField, momentOf, useFilter, useSettled } from '../parts/filters.tsx';
import { type Pages, othersOf, usePages } from '../parts/hooks.ts';
import type { Answers, Variables } from '../generated/operation-types.ts';
import type { Fields } from './session-filters.tsx';
import { CreateSessionButton } from './session-actions.tsx';
import { Empty, PageFrame, wordsOf } from '../parts/parts.tsx';
import { RecordingWays } from '../record/recording-ways.tsx';
import { type FollowState, follow } from '../parts/streams.ts';
import { SessionFilters, SessionChips } from './session-filters.tsx';
import { SessionMatches } from './session-matches.tsx';
import { BY_TIME, SessionTable, useOrder } from './session-table.tsx';
import type { Row } from './chosen-sessions.tsx';

type StateName = Row['state']['current'];
type Visibility = Row['visibility'];

const STATES: readonly StateName[] = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'];
const VISIBILITIES: readonly Visibility[] = ['PUBLIC', 'PRIVATE'];
const PAGE_SIZE = 50;
const MINUTE_MS = 60_000;
interface Wanted {
  readonly title: string;
  readonly state: StateName | undefined;
  readonly visibility: Visibility | undefined;
  readonly isPinned: boolean;
  readonly isHeld: boolean;
  readonly needsPerson: boolean;
  readonly agent: string;
  /** The id of a project, or free text. */
  readonly project: string;
  /** The id of a user or service account, as REST uses it. */
  readonly creator: string;
  /** Names in the events of sessions, which a session from the subscription does not tell. */
  readonly names: Readonly<Partial<Record<'models' | 'tools' | 'failedTools', readonly [string]>>>;
  readonly createdFrom: string | undefined;
  readonly createdBefore: string | undefined;
  readonly lastSeenFrom: string | undefined;
}

/** The filters, which are in the address, and what they mean for the API. */
function useSessionFilters() {
  const fields = {
    title: useFilter('title'),
    state: useFilter('state'),
    visibility: useFilter('visibility'),
    pinned: useFilter('pinned'),
    agent: useFilter('agent'),
    project: useFilter('project'),
    creator: useFilter('creator'),
    held: useFilter('held'),
    needs: useFilter('needs'),
    model: useFilter('model'),
    tool: useFilter('tool'),
    failedTool: useFilter('failedTool'),
    seen: useFilter('seen'),
    from: useFilter('from'),
    to: useFilter('to'),
    utc: useFilter('utc'),
  };
  const isUtc = fields.utc[0] !== '';
  const { model, tool, failedTool } = fields;
  const wanted: Wanted = {
    title: useSettled(fields.title[0]),
    state: STATES.find((each) => each === fields.state[0]),
    visibility: VISIBILITIES.find((each) => each === fields.visibility[0]),
    isPinned: fields.pinned[0] !== '',
    isHeld: fields.held[0] !== '',
    needsPerson: fields.needs[0] !== '',
    agent: fields.agent[0],
    project: fields.project[0],
    creator: fields.creator[0],
    names: {
      ...(model[0] && { models: [model[0]] as const }),
      ...(tool[0] && { tools: [tool[0]] as const }),
      ...(failedTool[0] && { failedTools: [failedTool[0]] as const }),
    },
    lastSeenFrom: momentOf(fields.seen[0], { isUtc }),
    createdFrom: momentOf(fields.from[0], { isUtc }),
    createdBefore: momentOf(fields.to[0], { daysLater: 1, isUtc }),
  };
  const filter = {
    ...(wanted.title && { search: wanted.title }),
    ...(wanted.state && { states: [wanted.state] }),
    ...(wanted.visibility && { visibilities: [wanted.visibility] }),
    ...(wanted.isPinned && { isPinned: true }),
    ...(wanted.isHeld && { isHeld: true }),
    ...(wanted.needsPerson && { needsPerson: true }),
    ...(wanted.agent && { agents: [wanted.agent] }),
    ...(wanted.project && { projectIds: [wanted.project] }),
    ...(wanted.creator && { creatorIds: [wanted.creator] }),
    ...wanted.names,
    ...(wanted.lastSeenFrom && { lastSeenFrom: wanted.lastSeenFrom }),
    ...(wanted.createdFrom && { createdFrom: wanted.createdFrom }),
    ...(wanted.createdBefore && { createdBefore: wanted.createdBefore }),
  };
  return { fields, wanted, filter };
}

type SessionFields = ReturnType<typeof useSessionFilters>['fields'];

function FilterFields({ fields }: { readonly fields: SessionFields }) {
  const [title, setTitle] = fields.title;
  const [state, setState] = fields.state;
  return (
    <>
      <InputField label="Title" value={title} onChange={setTitle} />
      <ChoiceField label="State" value={state} onChange={setState} choices={choicesOf(STATES)} />
      <More fields={fields} />
    </>
  );
}

export function SessionsPage() {
  const mayCreate = useScope('SESSIONS_RECORD');
  const [text, setText] = useFilter('text');
  const { fields, wanted, filter } = useSessionFilters();
  const hasText = text.trim() !== '';
  const order = useOrder();
  const areFailed = wanted.state === 'FAILED' || wanted.needsPerson;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const list = usePages(
    'Sessions',
    { first: PAGE_SIZE, filter, orderBy: order.by, areFailed },
    ({ viewer }) => viewer.organization?.sessions,
    { follows: true, stays: !order.isByTime || chosen.size > 0 },
  );
  const live = useLiveRows(list, wanted);
  useRecordedTimes(list, filter, areFailed);
  const isFiltered = Object.keys(filter).length > 0;
  const empty = isFiltered ? (
    <Empty>No session matches this filter. Remove a filter above to see more sessions.</Empty>
  ) : (
    <>
      <Empty>
        No sessions yet. {mayCreate ? 'Create one here, or record' : 'Record'} your agents in one of these ways:
      </Empty>
      <RecordingWays />
    </>
  );
  return (
    <PageFrame
      title="Sessions"
      intro="The sessions of your agents. The list updates itself."
      actions={mayCreate && <CreateSessionButton />}
    >
      <Filters folds>
        <InputField label="Text" placeholder="in messages" value={text} onChange={setText} />
        <FilterFields fields={fields} />
      </Filters>
      {isFiltered && <SessionChips fields={fields} />}
      {hasText ? (
        <SessionMatches text={text} filter={filter} />
      ) : (
        <>
          {live !== undefined && list.faults.length === 0 && (
            <p class="notice" role="status">
              {live}
            </p>
          )}
          <SessionTable
            list={list}
            order={order}
            hasReasons={areFailed}
            empty={empty}
            chosen={chosen}
            choose={setChosen}
          />
        </>
      )}
    </PageFrame>
  );
}

/** The filters that few readers need. */
function More({ fields }: { readonly fields: Fields }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="more-filters" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>More filters</summary>
      {isOpen && <SessionFilters fields={fields} />}
    </details>
  );
}

const choicesOf = (values: readonly string[]) =>
  [['', 'Any'], ...values.map((value) => [value, wordsOf(value)] as const)] as const;

/**
 * Moves changed sessions to their place in the order of the list. The list is loaded again whenever the subscription starts, at first and after a
 * lost connection, because earlier changes would be missing.
 * @returns why the list does not follow at present, if it does not
 */
function useLiveRows({ update, catchUp }: Pages<Row>, wanted: Wanted): string | undefined {
  const [words, setWords] = useState<string | undefined>(undefined);
  const current = useRef(wanted);
  current.current = wanted;
  useEffect(() => {
    const onData = ({ sessionChange: change }: Answers['SessionChange']) =>
      update((rows) => {
        const hasLeft = change.__typename === 'SessionLeft';
        const others = rows.filter(({ id }) => id !== (hasLeft ? change.sessionId : change.session.id));
        if (hasLeft || !isWanted(change.session, current.current)) return others;
        // Names only get more: a session in the list stays, and another one is found when the list is read again.
        if (Object.keys(current.current.names).length > 0 && others.length === rows.length) return rows;
        // The reason comes with the list alone.
        const known = rows.find(({ id }) => id === change.session.id);
        const session = { ...change.session, failureReason: known?.failureReason ?? null };
        return [session, ...others].toSorted((one, other) => other.lastSeenAt.localeCompare(one.lastSeenAt));
      });
    const onState = (state: FollowState, reason = 'no reason was given') => {
      if (state === 'live') catchUp();
      setWords(LIVE_WORDS[state]?.(reason));
    };
    return follow('SessionChange', {}, { onData, onState });
  }, [update, catchUp]);
  return words;
}

/** The gateway notes recording to the minute, and a subscription sends no session for it. So the first page is read again, if somebody can see it. */
function useRecordedTimes(
  { update, isLoading, faults, stays }: Pages<Row>,
  filter: Variables['Sessions']['filter'],
  areFailed: boolean,
): void {
  const key = JSON.stringify(filter);
  const isReadable = !isLoading && !stays && faults.length === 0;
  useEffect(() => {
    if (!isReadable) return undefined;
    const left = new AbortController();
    const read = async () => {
      const variables = { first: PAGE_SIZE, filter: JSON.parse(key) as typeof filter, orderBy: BY_TIME, areFailed };
      const { data } = await query('Sessions', variables, { signal: left.signal, isQuiet: true });
      const fresh = data?.viewer.organization?.sessions?.nodes ?? [];
      if (left.signal.aborted) return;
      update((rows) => [...fresh, ...othersOf(fresh, rows)]);
      wait();
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => (timer = setTimeout(() => void (document.hidden ? wait() : read()), MINUTE_MS));
    wait();
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [key, areFailed, isReadable, update]);
}

const LIVE_WORDS: Readonly<Partial<Record<FollowState, (reason: string) => string>>> = {
  reconnecting: () => 'The connection was lost. The list is updated as soon as it is back.',
  paused: (reason) => `The list waits before it updates itself again: ${reason}`,
  ended: () => 'The list no longer updates itself. Reload the page.',
  refused: (reason) => `The list does not update itself: ${reason}`,
  gone: (reason) => `The list no longer updates itself, because you may not read it any more: ${reason}`,
};

/** Applies the filter of the list to a session from the subscription. */
function isWanted(session: Omit<Row, 'failureReason'>, wanted: Wanted): boolean {
  const { title, state, visibility, agent, project, creator, createdFrom, createdBefore, lastSeenFrom } = wanted;
  return (
    session.title.toLowerCase().includes(title.toLowerCase()) &&
    (state === undefined || session.state.current === state) &&
    (visibility === undefined || session.visibility === visibility) &&
    (!wanted.isPinned || session.isPinned) &&
    (!wanted.isHeld || session.hold !== null) &&
    (!wanted.needsPerson || (session.state.current === 'FAILED' && session.handled === null)) &&
    (agent === '' || session.agent === agent) &&
    (project === '' || session.projectId === project) &&
    (creator === '' || session.creator?.databaseId === creator) &&
    (lastSeenFrom === undefined || session.lastSeenAt >= lastSeenFrom) &&
    (createdFrom === undefined || session.createdAt >= createdFrom) &&
    (createdBefore === undefined || session.createdAt < createdBefore)
  );
}
