import { useSettled } from '../parts/filters.tsx';
import { usePages } from '../parts/hooks.ts';
import { visibleText } from '../parts/markup.ts';
import type { Answers, Variables } from '../generated/operation-types.ts';
import { Badge, List, TimeCell } from '../parts/parts.tsx';

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
export function SessionMatches({ text, filter }: MatchesProps) {
  const variables = { text: useSettled(text.trim()), filter, first: 50 };
  const list = usePages('SessionSearch', variables, ({ viewer }) => viewer.organization?.sessionSearch);
  const empty =
    'No session that matches the filter has all of these words. Write a phrase in quotation marks; texts are found some seconds after they were recorded.';
  return <List label="Found texts" list={list} row={rowOf} empty={empty} head={HEAD} />;
}

function rowOf({ session, eventId, excerpt }: Match) {
  if (!session) return <tr></tr>;
  const place = eventId === null ? '' : `#event-${eventId}`;
  return (
    <tr key={session.id + place}>
      <td class="wide prose">
        <a href={`/sessions/${session.databaseId}${place}`}>{session.title}</a>
        {eventId !== null && <span class="soft"> event {eventId}</span>}
        <div class="soft">{excerpt}</div>
      </td>
      <td>
        <Badge value={session.state.current} />
      </td>
      <td dir="auto" title={visibleText(session.agent ?? '')}>
        {session.agent ? <span class="cut">{session.agent}</span> : <span class="soft">–</span>}
      </td>
      <TimeCell at={session.lastSeenAt} />
    </tr>
  );
}
