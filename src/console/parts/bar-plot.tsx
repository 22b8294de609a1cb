import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Content } from './markup.ts';
import { Table } from './parts.tsx';

/** A bar of a plot. With an address, it opens the list behind it. */
export interface Bar {
  /** Under the plot, and in the table. */
  readonly name: string;
  /** The values in words. */
  readonly words: string;
  /** The values from the ground up. */
  readonly parts: readonly number[];
  readonly cells: readonly Content[];
  readonly href?: string;
}

interface PlotProps {
  readonly label: string;
  readonly bars: readonly Bar[];
  /** The names of the parts with the classes of their colors. */
  readonly parts: readonly (readonly [name: string, tone: string])[];
  /** All values in words, while no bar is chosen. */
  readonly summary: string;
  readonly format: (value: number) => string;
  /** The columns of the table. */
  readonly head: readonly string[];
}

const WIDTH = 720;
const HEIGHT = 160;
/** Of the width of a bar. */
const GAP = 0.2;

/** Bars whose values are shown on hover and focus: one stop of the keyboard, in which the arrow keys move. Its table has all values. */
export function BarPlot({ label, bars, parts, summary, format, head }: PlotProps) {
  const { shown, plot, stopOf } = useBars(bars.length);
  const most = roundedUp(largestOf(bars.map(({ parts: values }) => sumOf(values))));
  const step = WIDTH / bars.length;
  return (
    <figure class="chart">
      <div class="plot">
        <p class="plot-value">
          <span>{shown === undefined ? summary : bars[shown]?.words}</span> <Legend parts={parts} />
        </p>
        <div class="plot-area">
          <span class="tick top">{format(most)}</span>
          <span class="tick middle">{format(most / 2)}</span>
          <svg
            {...plot}
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            aria-label={`${label}. ${summary}. The arrow keys show each bar.`}
          >
            {[0.5, HEIGHT / 2, HEIGHT - 0.5].map((y) => (
              <line key={y} class="axis" x1="0" x2={WIDTH} y1={y} y2={y} />
            ))}
            {bars.map((bar, index) => (
              <a
                key={index}
                {...(bar.href === undefined ? { role: 'img' as const } : { href: bar.href })}
                aria-label={bar.words}
                {...stopOf(index)}
              >
                <rect class="bar-place" x={index * step} y="0" width={step} height={HEIGHT}></rect>
                {rectsOf(bar, { at: (index + GAP / 2) * step, width: step * (1 - GAP), scale: HEIGHT / most, parts })}
              </a>
            ))}
          </svg>
        </div>
        <p class="plot-names soft" aria-hidden="true">
          {[0, Math.floor((bars.length - 1) / 2), bars.length - 1].map((index) => (
            <span key={index}>{bars[index]?.name}</span>
          ))}
        </p>
      </div>
      <PlotTable label={label} bars={bars} head={head} />
    </figure>
  );
}

/** The bar whose values are shown, on hover and focus: a plot is one stop of the keyboard, in which the arrow keys move. */
function useBars(count: number) {
  const [shown, setShown] = useState<number>();
  const [focused, setFocused] = useState(count - 1);
  const ref = useRef<SVGSVGElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = NEXT[event.key]?.(focused, count - 1);
    if (next === undefined || next < 0 || next >= count) return;
    event.preventDefault();
    setFocused(next);
    ref.current?.querySelectorAll<SVGElement>('a')[next]?.focus();
  };
  const hide = () => setShown(undefined);
  const stopOf = (index: number) => ({
    tabindex: index === Math.min(focused, count - 1) ? 0 : -1,
    onFocus: () => {
      setFocused(index);
      setShown(index);
    },
    onBlur: hide,
    onMouseEnter: () => setShown(index),
  });
  return { shown, stopOf, plot: { ref, role: 'group' as const, onKeyDown, onMouseLeave: hide } };
}

function PlotTable({ label, bars, head }: Pick<PlotProps, 'label' | 'bars' | 'head'>) {
  const row = ({ name, cells }: Bar) => (
    <tr key={name}>
      <td>{name}</td>
      {cells.map((cell) => (
        <td class="number">{cell}</td>
      ))}
    </tr>
  );
  return (
    <details>
      <summary>As a table</summary>
      <Table label={`${label}, as a table`} head={head} rows={bars} row={row} />
    </details>
  );
}

const NEXT: Readonly<Record<string, (index: number, last: number) => number>> = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  Home: () => 0,
  End: (_, last) => last,
};

function rectsOf(
  { parts: values }: Bar,
  { at, width, scale, parts }: Pick<PlotProps, 'parts'> & Readonly<Record<'at' | 'width' | 'scale', number>>,
): VNode[] {
  let top = HEIGHT;
  return values.map((value, index) => {
    const height = value === 0 ? 0 : Math.max(2, value * scale);
    top -= height;
    return <rect class={`bar ${parts[index]?.[1]}`} x={at} y={top} width={width} height={height}></rect>;
  });
}

function Legend({ parts }: Pick<PlotProps, 'parts'>) {
  if (parts.length < 2) return null;
  return (
    <span class="legend soft">
      {parts.map(([name, tone]) => (
        <span key={name}>
          <i class={tone} aria-hidden="true"></i>
          {name}
        </span>
      ))}
    </span>
  );
}

export const largestOf = (values: readonly number[]): number =>
  values.reduce((largest, each) => Math.max(largest, each), 0);
const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** The next number that is easy to halve, such as 2, 4, 6, 10 or 20. */
export function roundedUp(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * ([1, 2, 4, 6, 8, 10].find((factor) => factor * unit >= value) ?? 10);
}

const shortDay = new Intl.DateTimeFormat('en', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });
/** A day in UTC, such as "Fri, Nov 28". */
export const dayName = (day: string): string => shortDay.format(new Date(day));

/** A part of the largest value as a bar in a table. The number is beside it. */
export const Share = ({
  part,
  of,
  tone = '',
}: {
  readonly part: number;
  readonly of: number;
  readonly tone?: string;
}) => (
  <svg class="share-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="bar-ground" width="100" height="6"></rect>
    <rect class={`bar ${tone}`} width={of > 0 ? Math.max(part > 0 ? 1 : 0, (100 * part) / of) : 0} height="6"></rect>
  </svg>
);

interface SmallBarsProps {
  readonly label: string;
  readonly bars: readonly Pick<Bar, 'words' | 'parts'>[];
  readonly summary: string;
  /** The classes of the colors of the parts. */
  readonly tones: readonly string[];
}

const SMALL = 24;

/** Bars without axes for a row of a table, with the values of a bar on hover and focus. */
export function SmallBars({ label, bars, summary, tones }: SmallBarsProps) {
  const { shown, plot, stopOf } = useBars(bars.length);
  const scale = SMALL / Math.max(1, largestOf(bars.map(({ parts }) => sumOf(parts))));
  return (
    <div class="small-plot">
      <svg
        {...plot}
        viewBox={`0 0 ${bars.length * 4} ${SMALL}`}
        preserveAspectRatio="none"
        aria-label={`${label}. ${summary}. The arrow keys show each day.`}
      >
        {bars.map(({ words, parts }, index) => {
          let top = SMALL;
          return (
            <a key={index} role="img" aria-label={words} {...stopOf(index)}>
              <rect class="bar-place" x={index * 4} y="0" width="4" height={SMALL}></rect>
              {parts.map((value, part) => {
                const height = value === 0 ? (part === 0 ? 0.5 : 0) : Math.max(2, value * scale);
                top -= height;
                return <rect class={`bar ${tones[part]}`} x={index * 4 + 0.5} y={top} width="3" height={height}></rect>;
              })}
            </a>
          );
        })}
      </svg>
      <span class="soft">{shown === undefined ? summary : bars[shown]?.words}</span>
    </div>
  );
}
