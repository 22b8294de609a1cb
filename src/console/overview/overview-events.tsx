import { useQuery } from '../parts/hooks.ts';
import { OccurrencePlot } from '../event-definitions/event-days.tsx';
import { Faults } from '../parts/parts.tsx';

/** The occurrences of all events by day, beside the refused ones. They lead to the events, whose pages have the same for each. */
export function EventPlot(days: { readonly from: string; readonly until: string }) {
  const { data, faults } = useQuery('OverviewEvents', days);
  const counts = data?.viewer.organization?.eventOccurrencesPerDay ?? [];
  const isTooMuch = faults.some(({ extensions }) => extensions?.code === 'INVALID_INPUT');
  if (!isTooMuch && !counts.some(({ count, refusedCount }) => count + (refusedCount ?? 0) > 0)) return null;
  return (
    <section aria-labelledby="events">
      <h2 id="events">Event occurrences by day</h2>
      {isTooMuch ? <Faults faults={faults} /> : <OccurrencePlot days={counts} hrefOf={() => '/event-definitions'} />}
    </section>
  );
}
