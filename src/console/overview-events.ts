import type { VNode } from 'preact';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { OccurrencePlot } from './event-days.ts';
import { Faults } from './parts.ts';

/** The occurrences of all events by day, beside the refused ones. They lead to the events, whose pages have the same for each. */
export function EventPlot({ from }: { readonly from: string }): VNode | null {
  const { data, faults } = useQuery('OverviewEvents', { from });
  const days = data?.viewer.organization?.eventOccurrencesPerDay ?? [];
  const isTooMuch = faults.some(({ extensions }) => extensions?.code === 'INVALID_INPUT');
  if (!isTooMuch && !days.some(({ count, refusedCount }) => count + (refusedCount ?? 0) > 0)) return null;
  return html`<section aria-labelledby="events">
    <h2 id="events">Event occurrences by day</h2>
    ${isTooMuch ? html`<${Faults} faults=${faults} />` : html`<${OccurrencePlot} days=${days} hrefOf=${() => '/event-definitions'} />`}
  </section>`;
}
