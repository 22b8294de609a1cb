import { useEffect } from 'preact/hooks';
import { mutate, usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, Badge, Empty, List, Missing, PageFrame, Time, personOf } from '../parts/parts.tsx';

/** Calls of tools that need an approval. */

type Approval = NonNullable<Answers['ToolApproval']['toolApproval']>;

const FOLLOW_MS = 5_000;

/** Loads the page again while it is looked at. */
function useFollowing(reload: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [reload]);
}

const decide = (toolApprovalId: string, decision: 'APPROVE' | 'DENY', onDone: () => void) =>
  mutate('DecideToolApproval', { input: { toolApprovalId, decision } }, onDone);

/** Decides about the first call that waits for the caller, with `a` or `d`. */
function useDecisionKeys(approvals: readonly Approval[], onDone: () => void): void {
  const id = approvals.find(({ viewerCanDecide }) => viewerCanDecide)?.id;
  useEffect(() => {
    const pressed = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      const isTyping = target instanceof Element && target.closest('input, textarea, select, dialog') !== null;
      const decision = key === 'a' ? 'APPROVE' : key === 'd' ? 'DENY' : undefined;
      if (id !== undefined && decision && !isTyping && !ctrlKey && !metaKey && !altKey)
        void decide(id, decision, onDone);
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [id, onDone]);
}

function rowOf(approval: Approval, reload: () => void) {
  const { id, toolName, mcpServer, caller, session, state, createdAt, preview, viewerCanDecide } = approval;
  return (
    <tr key={id}>
      <td class="wide">
        <code class="name">{toolName}</code> at{' '}
        {mcpServer && <a href={`/mcp-connections/${mcpServer.databaseId}`}>{mcpServer.name}</a>}
        <pre tabindex={0}>{approval.arguments ?? preview}</pre>
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
const INTRO =
  'Calls of tools that another person must approve. The keys a and d approve and deny the first that waits for you.';

export function ToolApprovalsPage() {
  const list = usePages('ToolApprovals', { first: 50 }, ({ viewer }) => viewer.organization?.toolApprovals);
  useFollowing(list.reload);
  useDecisionKeys(list.rows, list.reload);
  return (
    <PageFrame title="Approvals" intro={INTRO}>
      <List
        label="Approvals"
        list={list}
        head={HEAD}
        row={(approval: Approval) => rowOf(approval, list.reload)}
        empty={<Empty>No call needs an approval.</Empty>}
      />
    </PageFrame>
  );
}

export function ToolApprovalPage({ id }: { readonly id: string }) {
  const query = useQuery('ToolApproval', { id });
  const approval = query.data?.toolApproval;
  useFollowing(query.reload);
  useDecisionKeys(approval ? [approval] : [], query.reload);
  if (!approval)
    return (
      <Missing title="Approval" query={query}>
        There is no such call, or you cannot see it. <a href="/tool-approvals">All approvals</a>
      </Missing>
    );
  const list = {
    ...query,
    rows: [approval],
    hasMore: false,
    loadMore: () => Promise.resolve(),
    update: () => undefined,
  };
  return (
    <PageFrame title="Approval" intro={INTRO}>
      <List
        label="Approval"
        list={list}
        head={HEAD}
        row={(row: Approval) => rowOf(row, query.reload)}
        empty={<Empty>Nothing</Empty>}
      />
    </PageFrame>
  );
}
