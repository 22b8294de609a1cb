import { countOf } from '../parts/amounts.ts';
import { EventDays, refusedIn } from './event-days.tsx';
import { EventMatching } from './event-matching.tsx';
import { EventOccurrences } from './event-occurrences.tsx';
import { EventViolations } from './event-violations.tsx';
import { FileExport } from '../parts/file-export.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { HistoryLink } from '../audit-log/history-link.tsx';
import { useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { type Fact, Facts, Faults, PageFrame, Table, Time, wordsOf, Missing } from '../parts/parts.tsx';
import { EditDefinition, DeleteDefinition } from './event-definition-forms.tsx';
import { AddProperty, EditProperty, ChangePropertyType, DeleteProperty } from './event-property-forms.tsx';

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type Property = Definition['properties'][number];

const OPTIONS_SHOWN = 8;

export function EventDefinitionPage({ id: name }: { readonly id: string }) {
  const query = useQuery('EventDefinition', { name });
  const { data, faults, reload } = query;
  const definition = data?.eventDefinition;
  if (!definition) {
    return (
      <Missing title="Event definition" query={query}>
        There is no event definition of this name. <a href="/event-definitions">All event definitions</a>
      </Missing>
    );
  }
  const own = definition.properties.filter(({ isDefault }) => !isDefault);
  const others = definition.properties.filter(({ isDefault }) => isDefault);
  const shared = { definition, onDone: reload };
  const actions = (
    <>
      {definition.viewerCanUpdate && <FormButton label="Edit" dialog={EditDefinition} props={shared} />}
      {definition.viewerCanDelete && <FormButton label="Delete…" dialog={DeleteDefinition} props={shared} />}
      <HistoryLink id={definition.id} />
    </>
  );
  const change = { eventName: definition.name, onDone: reload };
  return (
    <PageFrame title={definition.label} intro={definition.description ?? ''} actions={actions}>
      <Faults faults={faults} />
      <Facts facts={factsOf(definition)} />
      <EventDays definition={definition} />
      <div class="section-head">
        <h2>Properties</h2>
        {definition.viewerCanUpdate && <FormButton label="Add a property" dialog={AddProperty} props={change} />}
      </div>
      {own.length > 0 ? (
        <Properties label="Properties" properties={own} change={change} />
      ) : (
        <p class="soft">None but the default ones.</p>
      )}
      {others.length > 0 && (
        <details class="more-rows">
          <summary>{others.length} default properties</summary>
          <Properties label="Default properties" properties={others} />
        </details>
      )}
      {definition.customMatchingId && <EventMatching definition={definition} />}
      <div class="section-head">
        <h2 id="occurrences">Latest occurrences</h2>
        <FileExport
          label="Export all…"
          path={`/v1/event-definitions/${encodeURIComponent(definition.name)}/occurrences/export`}
          name={`${definition.name}.ndjson`}
        />
      </div>
      <EventOccurrences definition={definition} />
      <h2 id="refused">Refused occurrences</h2>
      <EventViolations definition={definition} />
    </PageFrame>
  );
}

/** The object type of an event, as text. */
export const objectOf = ({
  primaryObject,
  customObjectName,
}: Pick<Definition, 'primaryObject' | 'customObjectName'>): string => customObjectName ?? wordsOf(primaryObject);

function matchingOf({ customMatchingId }: Definition) {
  if (!customMatchingId) return null;
  const { eventPropertyName, targetObjectPropertyName } = customMatchingId.primaryObjectRule;
  return (
    <span>
      <code>{eventPropertyName}</code> = <code>{targetObjectPropertyName}</code>
    </span>
  );
}

/** Leads to the reasons, which are below all occurrences. */
function refusedOf({ occurrencesPerDay }: Definition) {
  const count = refusedIn(occurrencesPerDay ?? []);
  return count === 0 ? null : <a href="#refused">{countOf(count)} in the last 30 days</a>;
}

const factsOf = (definition: Definition): readonly Fact[] => [
  ['Name', <code>{definition.name}</code>],
  ['Fully qualified', <code>{definition.fullyQualifiedName}</code>],
  ['Object', objectOf(definition)],
  ['Record found by', matchingOf(definition)],
  ['Refused', refusedOf(definition)],
  ['Updated', <Time at={definition.updatedAt} />],
];

interface PropertiesProps {
  readonly label: string;
  readonly properties: readonly Property[];
  /** For properties that can be changed. */
  readonly change?: { readonly eventName: string; readonly onDone: () => void };
}

function Properties({ label, properties, change }: PropertiesProps) {
  const row = (property: Property) => (
    <tr key={property.name}>
      <td class="wide">
        {property.label}
        {property.description && <div class="soft">{property.description}</div>}
      </td>
      <td class="wide">
        <code class="name">{property.name}</code>
      </td>
      <td>{wordsOf(property.type)}</td>
      <td class="wide">
        <bdi>{optionsShown(property)}</bdi>
      </td>
      {change && <td class="end">{propertyActions({ property, ...change })}</td>}
    </tr>
  );
  const head = ['Label', 'Name', 'Type', 'Options', ...(change ? [''] : [])];
  return <Table label={label} head={head} rows={properties} row={row} />;
}

function propertyActions(props: {
  readonly property: Property;
  readonly eventName: string;
  readonly onDone: () => void;
}) {
  const { viewerCanUpdate, viewerCanDelete } = props.property;
  return (
    <div class="actions">
      {viewerCanUpdate && (
        <>
          <FormButton label="Edit" dialog={EditProperty} props={props} />
          <FormButton label="Change type" dialog={ChangePropertyType} props={props} />
        </>
      )}
      {viewerCanDelete && <FormButton label="Delete" dialog={DeleteProperty} props={props} />}
    </div>
  );
}

function optionsShown({ options }: Property): string {
  const shown = options.slice(0, OPTIONS_SHOWN).map(({ label }) => label);
  const more = options.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
