import type { VNode } from 'preact';
import { countOf } from './amounts.ts';
import { EventDays, refusedIn } from './event-days.ts';
import { EventMatching } from './event-matching.ts';
import { EventOccurrences } from './event-occurrences.ts';
import { EventViolations } from './event-violations.ts';
import { FileExport } from './file-export.ts';
import { FormButton } from './form-button.ts';
import { HistoryLink } from './history-link.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Empty, Facts, Faults, Loading, PageFrame, Table, Time, wordsOf } from './parts.ts';

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type Property = Definition['properties'][number];

const OPTIONS_SHOWN = 8;

const EDIT = async () => (await import('./event-definition-forms.ts')).EditDefinition;
const DELETE = async () => (await import('./event-definition-forms.ts')).DeleteDefinition;
const ADD_PROPERTY = async () => (await import('./event-property-forms.ts')).AddProperty;
const EDIT_PROPERTY = async () => (await import('./event-property-forms.ts')).EditProperty;
const CHANGE_TYPE = async () => (await import('./event-property-forms.ts')).ChangePropertyType;
const DELETE_PROPERTY = async () => (await import('./event-property-forms.ts')).DeleteProperty;

export function EventDefinitionPage({ id: name }: { readonly id: string }): VNode {
  const { data, faults, isLoading, reload } = useQuery('EventDefinition', { name });
  const definition = data?.eventDefinition;
  if (!definition) {
    const missing = html`<${Empty}
      >There is no event definition of this name. <a href="/event-definitions">All event definitions</a><//
    >`;
    return html`<${PageFrame} title="Event definition">
      <${Faults} faults=${faults} />
      ${isLoading ? html`<${Loading} />` : faults.length === 0 && missing}
    <//>`;
  }
  const own = definition.properties.filter(({ isDefault }) => !isDefault);
  const others = definition.properties.filter(({ isDefault }) => isDefault);
  const shared = { definition, onDone: reload };
  const actions = html`${definition.viewerCanUpdate && html`<${FormButton} label="Edit" load=${EDIT} props=${shared} />`}
    ${definition.viewerCanDelete && html`<${FormButton} label="Delete…" load=${DELETE} props=${shared} />`}
    <${HistoryLink} id=${definition.id} />`;
  const change = { eventName: definition.name, onDone: reload };
  return html`<${PageFrame} title=${definition.label} intro=${definition.description ?? ''} actions=${actions}>
    <${Faults} faults=${faults} />
    <${Facts} facts=${factsOf(definition)} />
    <${EventDays} definition=${definition} />
    <div class="section-head">
      <h2>Properties</h2>
      ${definition.viewerCanUpdate && html`<${FormButton} label="Add a property" load=${ADD_PROPERTY} props=${change} />`}
    </div>
    ${own.length > 0 ? html`<${Properties} label="Properties" properties=${own} change=${change} />` : html`<p class="soft">None but the default ones.</p>`}
    ${
      others.length > 0 &&
      html`<details class="more-rows">
        <summary>${others.length} default properties</summary>
        <${Properties} label="Default properties" properties=${others} />
      </details>`
    }
    ${definition.customMatchingId && html`<${EventMatching} definition=${definition} />`}
    <div class="section-head">
      <h2 id="occurrences">Latest occurrences</h2>
      <${FileExport}
        label="Export all…"
        path=${`/v1/event-definitions/${encodeURIComponent(definition.name)}/occurrences/export`}
        name=${`${definition.name}.ndjson`}
      />
    </div>
    <${EventOccurrences} definition=${definition} />
    <h2 id="refused">Refused occurrences</h2>
    <${EventViolations} definitionId=${definition.id} />
  <//>`;
}

/** The object type of an event, as text. */
export function objectOf({
  primaryObject,
  customObjectName,
}: Pick<Definition, 'primaryObject' | 'customObjectName'>): string {
  return customObjectName ?? wordsOf(primaryObject);
}

function matchingOf({ customMatchingId }: Definition): VNode | null {
  if (!customMatchingId) return null;
  const { eventPropertyName, targetObjectPropertyName } = customMatchingId.primaryObjectRule;
  return html`<span><code>${eventPropertyName}</code> = <code>${targetObjectPropertyName}</code></span>`;
}

/** Leads to the reasons, which are below all occurrences. */
function refusedOf({ occurrencesPerDay }: Definition): VNode | null {
  const count = refusedIn(occurrencesPerDay ?? []);
  return count === 0 ? null : html`<a href="#refused">${countOf(count)} in the last 30 days</a>`;
}

function factsOf(definition: Definition): readonly (readonly [string, unknown])[] {
  return [
    ['Name', html`<code>${definition.name}</code>`],
    ['Fully qualified', html`<code>${definition.fullyQualifiedName}</code>`],
    ['Object', objectOf(definition)],
    ['Record found by', matchingOf(definition)],
    ['Refused', refusedOf(definition)],
    ['Updated', html`<${Time} at=${definition.updatedAt} />`],
  ];
}

interface PropertiesProps {
  readonly label: string;
  readonly properties: readonly Property[];
  /** For properties that can be changed. */
  readonly change?: { readonly eventName: string; readonly onDone: () => void };
}

function Properties({ label, properties, change }: PropertiesProps): VNode {
  const row = (property: Property) =>
    html`<tr key=${property.name}>
      <td class="wide">
        ${property.label}${property.description && html`<div class="soft">${property.description}</div>`}
      </td>
      <td class="wide"><code class="name">${property.name}</code></td>
      <td>${wordsOf(property.type)}</td>
      <td class="wide"><bdi>${optionsShown(property)}</bdi></td>
      ${change && html`<td class="end">${propertyActions({ property, ...change })}</td>`}
    </tr>`;
  const head = ['Label', 'Name', 'Type', 'Options', ...(change ? [''] : [])];
  return html`<${Table} label=${label} head=${head} rows=${properties} row=${row} />`;
}

function propertyActions(props: {
  readonly property: Property;
  readonly eventName: string;
  readonly onDone: () => void;
}) {
  const { viewerCanUpdate, viewerCanDelete } = props.property;
  return html`<div class="actions">
    ${
      viewerCanUpdate &&
      html`<${FormButton} label="Edit" load=${EDIT_PROPERTY} props=${props} />
        <${FormButton} label="Change type" load=${CHANGE_TYPE} props=${props} />`
    }
    ${viewerCanDelete && html`<${FormButton} label="Delete" load=${DELETE_PROPERTY} props=${props} />`}
  </div>`;
}

function optionsShown({ options }: Property): string {
  const shown = options.slice(0, OPTIONS_SHOWN).map(({ label }) => label);
  const more = options.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
