import type { VNode } from 'preact';
import { html } from './html.ts';

const WIDTH = 720;
const HEIGHT = 160;
const GAP = 2;

interface Day {
  readonly day: string;
  readonly count: number;
}

/** Counts per day as bars. Some thirty bars need no chart library; the numbers are there as a table for those who do not see them. */
export function DayChart({ days }: { readonly days: readonly Day[] }): VNode {
  const most = Math.max(1, ...days.map(({ count }) => count));
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const step = WIDTH / Math.max(1, days.length);
  const bars = days.map(({ day, count }, index) => {
    const height = count === 0 ? 0 : Math.max(2, (count / most) * HEIGHT);
    return html`<rect
      key=${day}
      class="bar-of-day"
      x=${index * step + GAP / 2}
      y=${HEIGHT - height}
      width=${Math.max(1, step - GAP)}
      height=${height}
      rx="2"
    >
      <title>${day}: ${count}</title>
    </rect>`;
  });
  return html`<figure class="chart">
    <svg
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label=${`${total} occurrences in ${days.length} days, at most ${most} a day`}
    >
      ${bars}
      <line class="axis" x1="0" x2=${WIDTH} y1=${HEIGHT} y2=${HEIGHT} />
    </svg>
    <figcaption class="soft">
      <span>${days[0]?.day}</span><span>${total} in all, at most ${most} a day</span><span>${days.at(-1)?.day}</span>
    </figcaption>
    <details>
      <summary>As a table</summary>
      <table>
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
