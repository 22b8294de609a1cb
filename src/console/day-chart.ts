import type { VNode } from 'preact';
import { html } from './html.ts';

const WIDTH = 720;
const HEIGHT = 160;
const GAP = 3;

interface Day {
  readonly day: string;
  readonly count: number;
}

const short = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const nameOf = (day: string | undefined) => (day === undefined ? '' : short.format(new Date(day)));

/** A bar chart of counts per day. About thirty bars need no chart library; a table has the numbers for screen readers. */
export function DayChart({ days }: { readonly days: readonly Day[] }): VNode {
  const total = days.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return html`<p class="soft">None from ${nameOf(days[0]?.day)} to ${nameOf(days.at(-1)?.day)}.</p>`;
  const most = days.reduce((largest, { count }) => Math.max(largest, count), 0);
  return html`<figure class="chart">
    <div class="plot">
      <span class="most soft">${most}</span>
      <svg
        viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label=${`${total} occurrences in ${days.length} days, at most ${most} a day`}
      >
        <line class="axis" x1="0" x2=${WIDTH} y1="0.5" y2="0.5" />
        <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT / 2} y2=${HEIGHT / 2} />
        ${days.map((each, index) => barOf(each, index, { step: WIDTH / days.length, most }))}
        <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
      </svg>
    </div>
    <figcaption class="soft">
      <span>${nameOf(days[0]?.day)}</span><span>${total} in all</span><span>${nameOf(days.at(-1)?.day)}</span>
    </figcaption>
    <details>
      <summary>As a table</summary>
      <table class="narrow">
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Occurrences</th>
          </tr>
        </thead>
        <tbody>
          ${days.map(
            ({ day, count }) =>
              html`<tr key=${day}>
                <td>${day}</td>
                <td class="number">${count}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </figure>`;
}

function barOf(
  { day, count }: Day,
  index: number,
  { step, most }: { readonly step: number; readonly most: number },
): VNode {
  const height = count === 0 ? 0 : Math.max(2, (count / most) * HEIGHT);
  return html`<rect
    key=${day}
    class="bar-of-day"
    x=${index * step + GAP / 2}
    y=${HEIGHT - height}
    width=${Math.max(1, step - GAP)}
    height=${height}
  >
    <title>${day}: ${count}</title>
  </rect>`;
}
