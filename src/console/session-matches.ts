import type { VNode } from 'preact';
import { useSettled } from './filters.ts';
import { usePages } from './hooks.ts';
import { html, visibleText } from './html.ts';
import type { Answers, Variables } from './operation-types.ts';
import { Badge, Empty, List, Time } from './parts.ts';

type Match = NonNullable<
  NonNullable<Answers['SessionSearch']['viewer']['organization']>['sessionSearch']
>['nodes'][number];

const HEAD = ['Found', 'State', 'Agent', 'Last recorded'];

interface MatchesProps {
  readonly text: string;
  /** Conditions on the sessions. */
  readonly filter: Variables['SessionSearch']['filter'];
}

/** The places in all sessions that have the words of a text. Each leads to its event. */
export function SessionMatches({ text, filter }: MatchesProps): VNode {
  const variables = { text: useSettled(text.trim()), filter, first: 50 };
  const list = usePages('SessionSearch', variables, ({ viewer }) => viewer.organization?.sessionSearch);
  const empty = html`<${Empty}
    >No session that matches the filter has all of these words. Write a phrase in quotation marks; texts are found some
    seconds after they were recorded.<//
  >`;
  return html`<${List} label="Found texts" list=${list} row=${rowOf} empty=${empty} head=${HEAD} />`;
}

function rowOf({ session, eventId, excerpt }: Match): VNode {
  if (!session) return html`<tr></tr>`;
  const place = eventId === null ? '' : `#event-${eventId}`;
  return html`<tr key=${session.id + place}>
    <td class="wide">
      <a href=${`/sessions/${session.databaseId}${place}`}>${session.title}</a>
      ${eventId !== null && html`<span class="soft"> event ${eventId}</span>`}
      <div class="soft">${excerpt}</div>
    </td>
    <td><${Badge} value=${session.state.current} /></td>
    <td dir="auto" title=${session.agent && visibleText(session.agent)}>
      ${session.agent ? html`<span class="cut">${session.agent}</span>` : html`<span class="soft">–</span>`}
    </td>
    <td><${Time} at=${session.lastSeenAt} /></td>
  </tr>`;
}
