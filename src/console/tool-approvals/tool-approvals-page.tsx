import { shortcutOf } from '../parts/keys.ts';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { type Loaded, mutate, usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { withoutInvisible } from '../parts/markup.ts';
import { confirmDone } from '../parts/notices.tsx';
import { Action, Badge, Empty, Faults, List, Missing, PageFrame, Table, Time, personOf } from '../parts/parts.tsx';

/** Calls of tools that need an approval. */

type Approval = NonNullable<Answers['ToolApproval']['toolApproval']>;

const PAGE = 50;
const FOLLOW_MS = 5_000;
/** How long a call is marked before a key decides about it: whoever presses the key has seen the mark move. */
const SEEN_MS = 1_000;

/** Loads the page again while it is looked at. A request that still waits is not sent again. */
function useFollowing({ isLoading, reload }: Pick<Loaded<unknown>, 'isLoading' | 'reload'>, isWanted = true): void {
  useEffect(() => {
    if (isLoading || !isWanted) return undefined;
    const timer = setInterval(() => document.visibilityState === 'visible' && reload('quiet'), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [isLoading, isWanted, reload]);
}

const decide = (toolApprovalId: string, decision: 'APPROVE' | 'DENY', onDone: () => void) =>
  mutate('DecideToolApproval', { input: { toolApprovalId, decision } }, onDone);

/** Those that wait for the caller first, the oldest at the top: one that comes later moves none of them. */
const inOrder = (approvals: readonly Approval[]): readonly Approval[] => [
  ...approvals.filter(({ viewerCanDecide }) => viewerCanDecide).toReversed(),
  ...approvals.filter(({ viewerCanDecide }) => !viewerCanDecide),
];

interface Keys {
  /** The call about which the keys decide. */
  readonly marked: string | undefined;
  readonly fault: string | undefined;
}

/** Decides about the first call that waits for the caller, with `a` or `d`. */
function useDecisionKeys([first]: readonly Approval[], onDone: () => void): Keys {
  const [marked, mark] = useState<string>();
  const [fault, setFault] = useState<string>();
  const waiting = first?.viewerCanDecide === true ? first : undefined;
  const id = waiting?.id;
  const call = `The call of ${waiting?.toolName ?? ''} was`;
  useEffect(() => {
    const timer = setTimeout(() => mark(id), SEEN_MS);
    return () => clearTimeout(timer);
  }, [id]);
  // With the mark, not some frames later: a key that is pressed at once counts.
  useLayoutEffect(() => {
    if (id === undefined || id !== marked) return undefined;
    const pressed = (event: KeyboardEvent) => {
      const key = shortcutOf(event);
      const decision = key === 'a' ? 'APPROVE' : key === 'd' ? 'DENY' : undefined;
      if (!decision) return;
      void decide(id, decision, onDone).then((refusal) => {
        setFault(refusal);
        if (refusal === undefined) confirmDone(`${call} ${decision === 'APPROVE' ? 'approved' : 'denied'}.`);
      });
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [id, marked, call, onDone]);
  return { marked: id === marked ? marked : undefined, fault };
}

function rowOf(approval: Approval, isMarked: boolean, reload: () => void) {
  const { id, toolName, mcpServer, caller, session, state, createdAt, preview, viewerCanDecide } = approval;
  return (
    <tr key={id} aria-current={isMarked}>
      <td class="wide prose">
        <div>
          <code class="name">{toolName}</code> at{' '}
          {mcpServer && <a href={`/mcp-connections/${mcpServer.databaseId}`}>{mcpServer.name}</a>}
        </div>
        <pre tabindex={0}>{withoutInvisible(approval.arguments ?? preview)}</pre>
      </td>
      <td class="wrap">
        {personOf(caller)}
        {session && (
          <div>
            <a href={`/sessions/${session.databaseId}`}>{session.title}</a>
          </div>
        )}
      </td>
      <td>
        <Badge value={state} />
        {approval.decidedBy && <div class="soft">{personOf(approval.decidedBy)}</div>}
      </td>
      <td class="wrap">
        <Time at={createdAt} />
      </td>
      <td class="end">
        {viewerCanDecide && (
          <div class="actions wrap">
            <Action label="Approve" isPlain={false} run={() => decide(id, 'APPROVE', reload)} />
            <Action label="Deny" run={() => decide(id, 'DENY', reload)} />
          </div>
        )}
      </td>
    </tr>
  );
}

const HEAD = ['Call', 'Caller', 'State', 'Asked', ''];
const INTRO = 'Calls of tools that another person must approve. The keys a and d approve and deny the marked one.';

export function ToolApprovalsPage() {
  const list = usePages('ToolApprovals', { first: PAGE }, ({ viewer }) => viewer.organization?.toolApprovals);
  // Loading again would close the pages that were opened after the first.
  useFollowing(list, list.rows.length <= PAGE);
  const rows = inOrder(list.rows);
  const { marked, fault } = useDecisionKeys(rows, list.reload);
  return (
    <PageFrame title="Approvals" intro={INTRO}>
      <Faults faults={fault === undefined ? [] : [{ message: fault }]} />
      <List
        label="Approvals"
        list={{ ...list, rows }}
        head={HEAD}
        row={(approval: Approval) => rowOf(approval, approval.id === marked, list.reload)}
        empty={<Empty>No call needs an approval.</Empty>}
      />
    </PageFrame>
  );
}

export function ToolApprovalPage({ id }: { readonly id: string }) {
  const query = useQuery('ToolApproval', { id });
  const approval = query.data?.toolApproval;
  useFollowing(query);
  const { marked, fault } = useDecisionKeys(approval ? [approval] : [], query.reload);
  if (!approval)
    return (
      <Missing title="Approval" query={query}>
        There is no such call, or you cannot see it. <a href="/tool-approvals">All approvals</a>
      </Missing>
    );
  return (
    <PageFrame title="Approval" intro={INTRO}>
      <Faults faults={[...query.faults, ...(fault === undefined ? [] : [{ message: fault }])]} />
      <Table
        label="Approval"
        head={HEAD}
        rows={[approval]}
        row={(row: Approval) => rowOf(row, row.id === marked, query.reload)}
        isBusy={query.isLoading}
      />
    </PageFrame>
  );
}
