import type { VNode } from 'preact';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Faults, Loading, Table, wordsOf } from './parts.ts';
import { Hour } from './time.ts';

type Organization = NonNullable<Answers['EventViolations']['viewer']['organization']>;
type Violation = NonNullable<Organization['eventViolations']>['nodes'][number];

/** The occurrences of an event that were refused, by hour. */
export function EventViolations({ definitionId }: { readonly definitionId: string }): VNode {
  const { data, faults, isLoading } = useQuery('EventViolations', { definitionId });
  const nodes = data?.viewer.organization?.eventViolations?.nodes ?? [];
  const row = ({ id, hour, reason, property, apiKey, count }: Violation) =>
    html`<tr key=${id}>
      <td><${Hour} at=${hour} /></td>
      <td class="wide">${property === null ? html`<span class="soft">–</span>` : html`<code>${property}</code>`}</td>
      <td>${wordsOf(reason)}</td>
      <td>${apiKey?.name ?? apiKey?.preview ?? html`<span class="soft">–</span>`}</td>
      <td class="number">${count}</td>
    </tr>`;
  return html`<${Faults} faults=${faults} /> ${
      nodes.length === 0
        ? html`${isLoading ? html`<${Loading} />` : html`<p class="soft">None in the last 30 days.</p>`}`
        : html`<${Table}
            label="Refused occurrences"
            head=${['Hour', 'Property', 'Reason', 'API key', 'Count']}
            rows=${nodes}
            row=${row}
          />`
    }`;
}

type UnknownEvent = NonNullable<
  NonNullable<Answers['UnknownEvents']['viewer']['organization']>['eventViolations']
>['nodes'][number];

/** The names that no event has, with which occurrences were sent; nothing if there are none. */
export function UnknownEvents(): VNode | null {
  const { data } = useQuery('UnknownEvents', {});
  const nodes = data?.viewer.organization?.eventViolations?.nodes ?? [];
  const row = ({ id, hour, unknownEventName, apiKey, count }: UnknownEvent) =>
    html`<tr key=${id}>
      <td><${Hour} at=${hour} /></td>
      <td class="wide">
        ${unknownEventName === null ? html`<span class="soft">further names</span>` : html`<code>${unknownEventName}</code>`}
      </td>
      <td>${apiKey?.name ?? apiKey?.preview ?? html`<span class="soft">–</span>`}</td>
      <td class="number">${count}</td>
    </tr>`;
  if (nodes.length === 0) return null;
  return html`<h2>Refused names</h2>
    <p class="soft">
      Occurrences of the last 30 days with a name that no event has. Correct the name where they are sent, or create the
      event.
    </p>
    <${Table} label="Refused names" head=${['Hour', 'Name', 'API key', 'Count']} rows=${nodes} row=${row} />`;
}
