import type { VNode } from 'preact';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Empty, List, PageFrame, Time, personOf, wordsOf } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['Members']['viewer']['organization']>['members']>['edges'][number];

export function MembersPage(): VNode {
  const list = usePages('Members', { first: 50 }, ({ viewer }) => {
    const members = viewer.organization?.members;
    return members && { nodes: members.edges, pageInfo: members.pageInfo };
  });
  const row = ({ role, node }: Row) =>
    html`<tr key=${node.user.id}>
      <td class="wide">
        <strong>${personOf(node.user)}</strong>${node.user.name && html`<div class="soft">${node.user.email}</div>`}
      </td>
      <td>${wordsOf(role)}</td>
      <td><${Time} at=${node.joinedAt} /></td>
    </tr>`;
  return html`<${PageFrame} title="Members" intro="Who belongs to this organization.">
    <${List}
      label="Members"
      list=${list}
      row=${row}
      empty=${html`<${Empty}>No members that you may see.<//>`}
      head=${['Member', 'Role', 'Joined']}
    />
  <//>`;
}
