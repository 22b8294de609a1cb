import type { VNode } from 'preact';
import { html } from './html.ts';

/** A bar of a plot. The list behind it opens with a click or the keyboard. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  /** The part that is drawn in the color of failures. */
  readonly marked: number;
  readonly href: string;
}

interface PlotProps {
  readonly bars: readonly Bar[];
  readonly label: string;
  /** What the marked part is. */
  readonly marked?: string;
  readonly format: Intl.NumberFormat;
}

const WIDTH = 720;
const HEIGHT = 160;
const GAP = 3;

/** Bars with their values on hover and focus; a table has them for screen readers. */
export function BarPlot({ bars, label, marked, format }: PlotProps): VNode {
  const most = bars.reduce((largest, { value, marked: part }) => Math.max(largest, value, part), 0);
  const step = WIDTH / bars.length;
  const wordsOf = (bar: Bar) =>
    `${bar.name}: ${format.format(bar.value)}${marked === undefined ? '' : `, ${marked.toLowerCase()} ${format.format(bar.marked)}`}`;
  const rect = (index: number, value: number, className: string) => {
    const height = value === 0 || most === 0 ? 0 : Math.max(2, (value / most) * HEIGHT);
    return html`<rect
      class=${className}
      x=${index * step + GAP / 2}
      y=${HEIGHT - height}
      width=${Math.max(1, step - GAP)}
      height=${height}
    ></rect>`;
  };
  return html`<figure class="chart">
    <div class="plot">
      <span class="most soft">${format.format(most)}</span>
      <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="group" aria-label=${`${label} by day`}>
        ${bars.map(
          (bar, index) =>
            html`<a key=${bar.name} href=${bar.href} aria-label=${wordsOf(bar)}>
              <title>${wordsOf(bar)}</title>
              <rect class="bar-place" x=${index * step} y="0" width=${step} height=${HEIGHT}></rect>
              ${rect(index, bar.value, 'bar-of-day')} ${rect(index, bar.marked, 'bar-of-failures')}
            </a>`,
        )}
        <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
      </svg>
    </div>
    <figcaption class="soft"><span>${bars[0]?.name}</span><span>${bars.at(-1)?.name}</span></figcaption>
    <details>
      <summary>As a table</summary>
      <table class="narrow">
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">${label}</th>
            ${marked && html`<th scope="col">${marked}</th>`}
          </tr>
        </thead>
        <tbody>
          ${bars.map(
            (bar) =>
              html`<tr key=${bar.name}>
                <td>${bar.name}</td>
                <td class="number"><a href=${bar.href}>${format.format(bar.value)}</a></td>
                ${marked && html`<td class="number">${format.format(bar.marked)}</td>`}
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </figure>`;
}
