import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Faults, Loading, Table } from '../parts/parts.tsx';

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type Reason = 'NOT_REGISTERED' | 'NO_VALUE';

const DAYS = 30;

/** Why custom matching has found no record for an occurrence, in words. */
export const UNMATCHED_WORDS: Readonly<Record<Reason, string>> = {
  NOT_REGISTERED: 'value registered for no record',
  NO_VALUE: 'no value to find a record by',
};

/** How custom matching finds the records of an event, and how many occurrences it has found none for. */
export function EventMatching({ definition }: { readonly definition: Definition }) {
  const { name, customMatchingId, primaryObject, customObjectName } = definition;
  const [from] = useState(() => new Date(Date.now() - DAYS * 86_400_000).toISOString());
  const { data, faults, isLoading } = useQuery('EventMatching', { name, from });
  if (!customMatchingId) return null;
  const { eventPropertyName, targetObjectPropertyName } = customMatchingId.primaryObjectRule;
  const object = customObjectName ?? primaryObject;
  const advice: Readonly<Record<Reason, VNode>> = {
    NOT_REGISTERED: (
      <>
        Register the values with <code>registerObjectIdentifiers</code> before the occurrences are sent:{' '}
        <code>objectType</code> is <code>{object}</code>, <code>propertyName</code> is{' '}
        <code>{targetObjectPropertyName}</code>.
      </>
    ),
    NO_VALUE: (
      <>
        Send the property <code>{eventPropertyName}</code>, or the id of the record as <code>objectId</code>.
      </>
    ),
  };
  const found = data?.eventDefinition;
  const rows = [
    { reason: 'NOT_REGISTERED', count: found?.notRegistered?.totalCount ?? 0 } as const,
    { reason: 'NO_VALUE', count: found?.noValue?.totalCount ?? 0 } as const,
  ].filter(({ count }) => count > 0);
  const row = ({ reason, count }: (typeof rows)[number]) => (
    <tr key={reason}>
      <td class="wide">{UNMATCHED_WORDS[reason]}</td>
      <td class="number">{count}</td>
      <td class="wide">{advice[reason]}</td>
    </tr>
  );
  return (
    <>
      <h2>Custom matching</h2>
      <p class="soft">
        An occurrence is linked to the record whose <code>{targetObjectPropertyName}</code> equals its{' '}
        <code>{eventPropertyName}</code>. One that finds no record is stored without it, and stays so.
      </p>
      <Faults faults={faults} />
      {found ? (
        rows.length > 0 ? (
          <Table
            label={`Occurrences of the last ${DAYS} days without a record`}
            head={['Without a record', 'Count', 'What to do']}
            rows={rows}
            row={row}
          />
        ) : (
          <p>No occurrence of the last {DAYS} days is without a record.</p>
        )
      ) : (
        isLoading && <Loading />
      )}
    </>
  );
}
