import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { follow, run } from './api.ts';
import { refusalOf, usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Badge, Empty, List, PageFrame, Time } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['Sessions']['viewer']['organization']>['sessions']>['nodes'][number];

const STATES = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;

export function SessionsPage(): VNode {
  const [title, setTitle] = useState('');
  const [state, setState] = useState('');
  const filter = { ...(title && { title }), ...(state && { states: [state as (typeof STATES)[number]] }) };
  const list = usePages('Sessions', { first: 50, filter }, ({ viewer }) => viewer.organization?.sessions);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onData = () => {
      // Many changes at once are one new look.
      clearTimeout(timer);
      timer = setTimeout(list.reload, 300);
    };
    const stop = follow('SessionChanged', {}, { onData, onState: () => undefined });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [list.reload]);
  const row = (session: Row) =>
    html`<tr key=${session.id}>
      <td class="wide">
        <a href=${`/sessions/${session.databaseId}`}
          >${session.isPinned && html`<span title="Pinned" aria-label="Pinned">★ </span>`}${session.title}</a
        >
        ${session.project && html`<span class="soft"> ${session.project.name}</span>`}
      </td>
      <td><${Badge} value=${session.state.current} /></td>
      <td>${session.agent ?? html`<span class="soft">–</span>`}</td>
      <td><${Time} at=${session.updatedAt} /></td>
      <td>${session.viewerCanUpdate && html`<${PinAction} session=${session} onDone=${list.reload} />`}</td>
    </tr>`;
  const isFiltered = title !== '' || state !== '';
  const empty = isFiltered
    ? html`<${Empty}>No session fits this filter.<//>`
    : html`<${Empty} command='mutation { createSession(input: { title: "First session" }) { __typename } }'
        >No sessions yet. Create one in <a href="/graphql">GraphiQL</a>, or let your agent runner do it:<//
      >`;
  return html`<${PageFrame}
    title="Sessions"
    intro="What agents have done and are doing. The list follows changes by itself."
  >
    <form class="filters" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
      <label
        >Title
        <input
          type="search"
          value=${title}
          onInput=${(event: InputEvent) => setTitle((event.target as HTMLInputElement).value)}
      /></label>
      <label
        >State
        <select value=${state} onChange=${(event: Event) => setState((event.target as HTMLSelectElement).value)}>
          <option value="">Any</option>
          ${STATES.map((each) => html`<option value=${each}>${each.toLowerCase().replace('_', ' ')}</option>`)}
        </select>
      </label>
    </form>
    <${List}
      label="Sessions"
      list=${list}
      row=${row}
      empty=${empty}
      head=${['Title', 'State', 'Agent', 'Updated', '']}
    />
  <//>`;
}

function PinAction({ session, onDone }: { readonly session: Row; readonly onDone: () => void }): VNode {
  const pin = async () => {
    const answer = await run('PinSession', { id: session.id, isPinned: !session.isPinned });
    onDone();
    return refusalOf(answer.data?.pinSession, answer.faults);
  };
  return html`<${Action} label=${session.isPinned ? 'Unpin' : 'Pin'} run=${pin} />`;
}
