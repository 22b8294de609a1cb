import { useState } from 'preact/hooks';
import { changeOf } from './audit-words.ts';
import { CheckField } from '../parts/filters.tsx';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Badge, Empty, List, Time, personOf, wordsOf, TimeCell } from '../parts/parts.tsx';

/** Who changed an object, when, and what: its entries in the audit log. A runner records all the time, so that is hidden at first. */

type Row = NonNullable<NonNullable<Answers['History']['viewer']['organization']>['auditLog']>['nodes'][number];

const HEAD = ['When', 'Change', 'By'];

interface HistoryProps {
  readonly id: string;
  readonly session: NonNullable<Answers['Session']['session']>;
}

export function SessionHistory({ id, session }: HistoryProps) {
  const [recording, setRecording] = useState('');
  const variables = { id, first: 50, isRecording: recording === '' ? false : null };
  const list = usePages('History', variables, ({ viewer }) => viewer.organization?.auditLog);
  const { creator, createdAt, lastSeenAt, state } = session;
  const created = `No person has changed it. Created ${creator ? `by ${personOf(creator)} ` : ''}`;
  const is = `It is ${wordsOf(state.current).toLowerCase()}, and was last recorded `;
  const empty = (
    <Empty>
      {created}
      <Time at={createdAt} />. {is}
      <Time at={lastSeenAt} />.
    </Empty>
  );
  return (
    <section class="history" aria-labelledby="history-title">
      <div class="page-head">
        <h2 id="history-title">History</h2>
        <CheckField label="With recording" value={recording} onChange={setRecording} />
      </div>
      <List label="Changes" list={list} row={rowOf} empty={empty} head={HEAD} />
    </section>
  );
}

const rowOf = (entry: Row) => (
  <tr key={entry.databaseId}>
    <TimeCell at={entry.occurredAt} />
    <td class="wide prose">
      {changeOf(entry)}
      <Refusal entry={entry} />
    </td>
    <td>{entry.actor ? personOf(entry.actor) : (entry.actorLabel ?? wordsOf(entry.source))}</td>
  </tr>
);

/** Why an attempt was refused, and what its caller was told. */
export function Refusal({ entry }: { readonly entry: Pick<Row, 'refusal' | 'detail'> }) {
  if (entry.refusal === null) return null;
  return (
    <>
      <span>
        {' '}
        <Badge value={entry.refusal} />
      </span>
      {entry.detail && <div class="soft">{entry.detail}</div>}
    </>
  );
}
