import type { VNode } from 'preact';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Faults, PageFrame, Time, wordsOf } from './parts.ts';

export function UsagePage(): VNode {
  const { data, faults, isLoading } = useQuery('Usage', {});
  const organization = data?.viewer.organization;
  const usage = organization?.monthlyOccurrenceUsage;
  const share = usage?.limit ? Math.min(1, Number(usage.count) / Number(usage.limit)) : 0;
  const counts: [string, number | undefined][] = [
    ['Members', organization?.memberCount],
    ['Sessions', organization?.sessions?.totalCount],
    ['MCP connections', organization?.mcpServers?.totalCount],
    ['Event definitions', organization?.eventDefinitions?.totalCount],
    ['API keys', organization?.apiKeys?.totalCount],
  ];
  return html`<${PageFrame} title="Usage" intro="What this organization uses, against its limits.">
    <${Faults} faults=${faults} />
    ${isLoading && !organization && html`<p class="soft" role="status">Loading…</p>`}
    ${
      usage &&
      html`<div class="panel">
        <h2>Event occurrences in ${usage.month}</h2>
        <p class="figure">
          ${String(usage.count)}
          <span class="soft">${usage.limit ? `of ${String(usage.limit)}` : 'recorded; there is no monthly limit'}</span>
        </p>
        ${usage.limit && html`<progress max="1" value=${share} aria-label="Share of the monthly limit">${Math.round(share * 100)} %</progress>`}
        <p class="soft">Starts again <${Time} at=${usage.resetsAt} />.</p>
      </div>`
    }
    <dl class="counts">
      ${counts.map(
        ([name, count]) =>
          count !== undefined &&
          html`<div>
            <dt>${name}</dt>
            <dd>${count}</dd>
          </div>`,
      )}
    </dl>
    ${
      organization &&
      html`<h2>Subscriptions</h2>
        <ul class="chips">
          ${organization.subscriptions.map(({ family, level }) => html`<li key=${family}>${wordsOf(family)}: ${level.toLowerCase()}</li>`)}
        </ul>`
    }
  <//>`;
}
