import type { VNode } from 'preact';
import { run } from './api.ts';
import { Rename } from './dialogs.ts';
import { refusalOf, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Badge, Empty, Facts, Faults, Loading, PageFrame, Time, personOf, wordsOf } from './parts.ts';
import { SessionForms } from './session-actions.ts';
import { Timeline } from './session-timeline.ts';

type Session = NonNullable<Answers['Session']['session']>;
type Artifacts = Session['artifacts'];

export function SessionPage({ id }: { readonly id: string }): VNode {
  const { data, faults, isLoading, paused, reload } = useQuery('Session', { id });
  const session = data?.session;
  if (!session) {
    const missing = html`<${Empty}
      >There is no such session, or you cannot read it. <a href="/sessions">All sessions</a><//
    >`;
    return html`<${PageFrame} title="Session">
      <${Faults} faults=${faults} />
      ${isLoading ? html`<${Loading} paused=${paused} />` : faults.length === 0 && missing}
    <//>`;
  }
  const actions = html`${session.viewerCanUpdate && html`<${Actions} session=${session} onChange=${reload} />`}
    <${SessionForms} session=${session} onChange=${reload} />`;
  return html`<${PageFrame} title=${session.title} actions=${actions}>
    <p><${Badge} value=${session.state.current} /></p>
    <${Faults} faults=${faults} />
    ${session.description && html`<p class="description">${session.description}</p>`}
    <${Facts} facts=${factsOf(session)} />
    <${PullRequests} artifacts=${session.artifacts} />
    <${Timeline} id=${session.databaseId} onEnd=${reload} />
  <//>`;
}

/** The actions of users who may change the session. */
function Actions({ session, onChange }: { readonly session: Session; readonly onChange: () => void }): VNode {
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

function factsOf(session: Session): readonly (readonly [string, unknown])[] {
  return [
    ['Agent', session.agent],
    ['Created by', session.creator && personOf(session.creator)],
    ['Project', session.project?.name],
    ['Visibility', wordsOf(session.visibility)],
    ['Branch', session.branchName],
    ['Changes', session.diffSummary && `+${session.diffSummary.additions} −${session.diffSummary.deletions}`],
    ['Updated', html`<${Time} at=${session.updatedAt} />`],
  ];
}

function PullRequests({ artifacts }: { readonly artifacts: Artifacts }): VNode | null {
  const lists = artifacts?.nodes.flatMap(({ pullRequests }) => pullRequests ?? []) ?? [];
  const pulls = lists.flatMap(({ nodes }) => nodes);
  const hasEarlier = artifacts?.pageInfo.hasPreviousPage || lists.some(({ pageInfo }) => pageInfo.hasPreviousPage);
  if (pulls.length === 0) return null;
  return html`${hasEarlier && html`<p class="soft">Only the latest pull requests are shown.</p>`}
    <ul class="pulls" aria-label="Pull requests">
      ${pulls.map(({ databaseId, title, url, status }) => html`<li key=${databaseId}><${Badge} value=${status} /> <a href=${safeLink(url)} rel="noreferrer">${title}</a></li>`)}
    </ul>`;
}

/** The URL if it is HTTP. A runner wrote it, and other schemes could run a script. */
function safeLink(url: string): string | undefined {
  return /^https?:/i.test(url) ? url : undefined;
}
