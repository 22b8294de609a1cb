import { useEffect, useState } from 'preact/hooks';
import { countOf, countTick, wholePercents } from '../parts/amounts.ts';
import { type Bar, BarPlot, Share, dayName } from '../parts/bar-plot.tsx';
import { useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';

/** The occurrences of an event as pictures: by day beside the refused ones, and by the values of an enumeration. */

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type Days = NonNullable<Definition['occurrencesPerDay']>;

export const refusedIn = (days: Days): number => days.reduce((sum, { refusedCount }) => sum + (refusedCount ?? 0), 0);

interface DefinitionProps {
  readonly definition: Definition;
}

export function EventDays({ definition }: DefinitionProps) {
  const days = definition.occurrencesPerDay ?? [];
  const enumeration = definition.properties.find(({ isDefault, type }) => !isDefault && type === 'ENUMERATION');
  const hrefOf = (day: string) => occurrencesOf(definition, { from: day, to: day });
  return (
    <>
      <h2>Occurrences by day</h2>
      <OccurrencePlot days={days} hrefOf={hrefOf} refusedOf={(day: string) => `?refused=${day}#refused`} />
      {enumeration && <EventValues definition={definition} property={enumeration} />}
    </>
  );
}

/** The list of the occurrences behind a number. */
const occurrencesOf = ({ name }: Pick<Definition, 'name'>, filter: Readonly<Record<string, string>>): string =>
  `/event-definitions/${encodeURIComponent(name)}?${new URLSearchParams(filter)}#occurrences`;

interface PlotProps {
  readonly days: Days;
  /** The lists behind the stored and the refused occurrences of a day. */
  readonly hrefOf: (day: string) => string;
  readonly refusedOf?: (day: string) => string;
}

/** Stored occurrences by day, beside the refused ones. */
export function OccurrencePlot({ days, hrefOf, refusedOf = hrefOf }: PlotProps) {
  const bars = days.map(({ day, count, refusedCount }): Bar => ({
    name: dayName(day),
    words: occurrencesInWords({ day, count, refusedCount }),
    parts: [count, refusedCount ?? 0],
    cells: [
      <a href={hrefOf(day)}>{countOf(count)}</a>,
      refusedCount === null ? '–' : <a href={refusedOf(day)}>{countOf(refusedCount)}</a>,
    ],
    href: hrefOf(day),
  }));
  const accepted = days.reduce((sum, { count }) => sum + count, 0);
  const refused = refusedIn(days);
  const isCut = days.some(({ refusedCount }) => refusedCount === null);
  return (
    <BarPlot
      label="Occurrences by day"
      bars={bars}
      parts={PARTS}
      format={countTick}
      summary={`${countOf(accepted)} accepted, ${countOf(refused)} refused${isCut ? ' in the last 30 days' : ''}`}
      head={['Day', 'Accepted', 'Refused']}
    />
  );
}

export function occurrencesInWords({ day, count, refusedCount }: Days[number]): string {
  const refused = refusedCount === null ? 'refused ones are no longer counted' : `${countOf(refusedCount)} refused`;
  return `${dayName(day)}: ${countOf(count)} accepted, ${refused}`;
}

const PARTS = [
  ['Accepted', ''],
  ['Refused', 'bad'],
] as const;

/** More values would be more requests than a page should send. */
const MAX_VALUES = 8;

function EventValues({
  definition,
  property,
}: DefinitionProps & { readonly property: Definition['properties'][number] }) {
  const { occurrencesPerDay, name } = definition;
  const from = `${occurrencesPerDay?.[0]?.day ?? '2000-01-01'}T00:00:00Z`;
  const options = property.options.filter(({ hidden }) => !hidden).slice(0, MAX_VALUES);
  const total = (occurrencesPerDay ?? []).reduce((sum, { count }) => sum + count, 0);
  const [counts, setCounts] = useState<Readonly<Record<string, number>>>({});
  const percents = wholePercents(
    options.map(({ value }) => counts[value] ?? 0),
    total,
  );
  const row = ({ value, label }: (typeof options)[number], index: number) => (
    <ValueRow
      key={value}
      label={label}
      total={total}
      percent={percents[index] ?? 0}
      onCount={(count) => setCounts((before) => ({ ...before, [value]: count }))}
      href={occurrencesOf(definition, { property: property.name, value, from: from.slice(0, 10) })}
      variables={{ name, from, property: property.name, value }}
    />
  );
  return (
    <>
      <h2>By {property.label}</h2>
      <div class="table-frame" role="region" aria-label={`By ${property.label}`} tabindex={0}>
        <table class="values-table">
          <thead>
            <tr>
              <th scope="col">{property.label}</th>
              <th scope="col" class="number">
                Occurrences
              </th>
              <th scope="col" class="number">
                Of all
              </th>
            </tr>
          </thead>
          <tbody>{options.map(row)}</tbody>
        </table>
      </div>
    </>
  );
}

interface ValueProps {
  readonly label: string;
  readonly total: number;
  readonly percent: number;
  readonly onCount: (count: number) => void;
  /** The list of these occurrences. */
  readonly href: string;
  readonly variables: {
    readonly name: string;
    readonly from: string;
    readonly property: string;
    readonly value: string;
  };
}

function ValueRow({ label, total, percent, onCount, href, variables }: ValueProps) {
  const { data } = useQuery('EventValueCount', variables);
  const count = data?.eventDefinition?.occurrences.totalCount;
  useEffect(() => {
    if (count !== undefined) onCount(count);
  }, [count]);
  return (
    <tr>
      <td class="wide" data-column="Value">
        <bdi>{label}</bdi>
      </td>
      <td class="number" data-column="Occurrences">
        <a href={href}>{countOf(count)}</a>
      </td>
      <td class="number" data-column="Of all">
        {percent} %<Share part={count ?? 0} of={total} />
      </td>
    </tr>
  );
}
