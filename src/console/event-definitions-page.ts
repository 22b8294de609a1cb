import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { DayChart } from './day-chart.ts';
import { Empty, Faults, List, PageFrame, Time, wordsOf } from './parts.ts';

type Row = NonNullable<
  NonNullable<Answers['EventDefinitions']['viewer']['organization']>['eventDefinitions']
>['nodes'][number];

export function EventDefinitionsPage(): VNode {
  const [search, setSearch] = useState('');
  const variables = { first: 50, search: search || null };
  const list = usePages('EventDefinitions', variables, ({ viewer }) => viewer.organization?.eventDefinitions);
  const row = (definition: Row) =>
    html`<tr key=${definition.id}>
      <td class="wide">
        <a href=${`/event-definitions/${encodeURIComponent(definition.name)}`}>${definition.label}</a>
        <div class="soft">${definition.description}</div>
      </td>
      <td><code>${definition.name}</code></td>
      <td>${definition.customObjectName ?? definition.primaryObject}</td>
      <td class="number">${definition.properties.filter(({ isDefault }) => !isDefault).length}</td>
    </tr>`;
  const empty = search
    ? html`<${Empty}>No event definition has this in its name.<//>`
    : html`<${Empty} command="docs/examples/create-tracking-plan.sh"
        >No event definitions yet. Create a tracking plan:<//
      >`;
  return html`<${PageFrame} title="Event definitions" intro="The custom events that this organization records.">
    <form class="filters" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
      <label
        >Name
        <input
          type="search"
          value=${search}
          onInput=${(event: InputEvent) => setSearch((event.target as HTMLInputElement).value)}
      /></label>
    </form>
    <${List}
      label="Event definitions"
      list=${list}
      row=${row}
      empty=${empty}
      head=${['Label', 'Name', 'Object', 'Properties']}
    />
  <//>`;
}

export function EventDefinitionPage({ name }: { readonly name: string }): VNode {
  const { data, faults, isLoading } = useQuery('EventDefinition', { name });
  const definition = data?.eventDefinition;
  if (!definition) {
    return html`<${PageFrame} title="Event definition">
      <${Faults} faults=${faults} />
      ${isLoading ? html`<p class="soft" role="status">Loading…</p>` : faults.length === 0 && html`<${Empty}>There is no event definition of this name. <a href="/event-definitions">All event definitions</a><//>`}
    <//>`;
  }
  const occurrences = definition.occurrences?.nodes ?? [];
  return html`<${PageFrame} title=${definition.label} intro=${definition.description ?? ''}>
    <${Faults} faults=${faults} />
    <dl class="facts">
      <div>
        <dt>Name</dt>
        <dd><code>${definition.name}</code></dd>
      </div>
      <div>
        <dt>Fully qualified</dt>
        <dd><code>${definition.fullyQualifiedName}</code></dd>
      </div>
      <div>
        <dt>Object</dt>
        <dd>${definition.customObjectName ?? definition.primaryObject}</dd>
      </div>
      <div>
        <dt>Updated</dt>
        <dd><${Time} at=${definition.updatedAt} /></dd>
      </div>
    </dl>
    <h2>Occurrences per day</h2>
    <${DayChart} days=${definition.occurrencesPerDay ?? []} />
    <h2>Latest occurrences</h2>
    ${
      occurrences.length === 0
        ? html`<${Empty}>Nothing has been recorded for this event yet.<//>`
        : html`<div class="table-frame" role="region" aria-label="Latest occurrences" tabindex="0">
            <table aria-label="Latest occurrences">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Object</th>
                  <th scope="col">Properties</th>
                </tr>
              </thead>
              <tbody>
                ${occurrences.map(
                  ({ id, occurredAt, objectId, email, properties }) =>
                    html`<tr key=${id}>
                      <td><${Time} at=${occurredAt} /></td>
                      <td>${objectId ?? email ?? '–'}</td>
                      <td class="wide"><code>${JSON.stringify(properties)}</code></td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`
    }
    <h2>Properties</h2>
    <div class="table-frame" role="region" aria-label="Properties" tabindex="0">
      <table aria-label="Properties">
        <thead>
          <tr>
            <th scope="col">Label</th>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">Options</th>
          </tr>
        </thead>
        <tbody>
          ${definition.properties.map(
            (property) =>
              html`<tr key=${property.name} class=${property.isDefault ? 'soft' : ''}>
                <td>${property.label}</td>
                <td><code>${property.name}</code></td>
                <td>${wordsOf(property.type)}${property.isDefault && ' (default)'}</td>
                <td class="wide">
                  ${property.options
                    .slice(0, 8)
                    .map(({ label }) => label)
                    .join(', ')}${property.options.length > 8 && ` and ${property.options.length - 8} more`}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  <//>`;
}
