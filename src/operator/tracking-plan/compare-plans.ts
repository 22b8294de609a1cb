import { isLongerThan } from '../../core/input/validation.ts';
import type { PropertyType } from '../../domains/event-definitions/public.ts';
import { maxTextLength } from '../../domains/event-occurrences/public.ts';
import type { Plan, PlannedEvent, PlannedProperty } from './plan.ts';

/** One difference between two plans. */
export interface Difference {
  readonly kind: 'added' | 'changed' | 'removed';
  readonly event: string;
  /** Where in the event, such as `properties.price.type`; empty for the whole event. */
  readonly path: string;
  readonly text: string;
  /** Why an occurrence that was accepted could be refused, or why the gateway refuses the plan; undefined if neither can happen. */
  readonly breaking?: string | undefined;
}

/** The differences from `before` to `after`, by event. */
export function comparePlans(before: Plan, after: Plan): Difference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return names.flatMap((name): Difference[] => {
    const [old, planned] = [before.get(name), after.get(name)];
    if (!old) return [{ kind: 'added', event: name, path: '', text: 'event' }];
    if (planned) return compareEvents(old, planned);
    return [{ kind: 'removed', event: name, path: '', text: 'event', breaking: 'its occurrences are refused' }];
  });
}

/** What can never change once the event exists. */
const FIXED = 'never changes once the event exists; plan another event';

function compareEvents(old: PlannedEvent, planned: PlannedEvent): Difference[] {
  const event = old.name;
  const changed = (path: string, from: unknown, to: unknown, breaking?: string): Difference[] =>
    isSame(from, to) ? [] : [{ kind: 'changed', event, path, text: `${shown(from)} -> ${shown(to)}`, breaking }];
  return [
    ...changed('label', old.label, planned.label),
    ...changed('description', old.description, planned.description),
    ...changed('primaryObject', old.primaryObject, planned.primaryObject, FIXED),
    ...changed('customMatchingId', old.customMatchingId, planned.customMatchingId, FIXED),
    ...changed('includeDefaultProperties', old.includeDefaultProperties, planned.includeDefaultProperties, FIXED),
    ...compareProperties(old, planned),
  ];
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Long values are cut, because a line is read by a person. */
function shown(value: unknown): string {
  const json = value === undefined ? 'none' : JSON.stringify(value);
  return json.length > 100 ? `${json.slice(0, 100)}…` : json;
}

function compareProperties(old: PlannedEvent, planned: PlannedEvent): Difference[] {
  const event = old.name;
  const names = [...new Set([...old.properties.keys(), ...planned.properties.keys()])].toSorted();
  return names.flatMap((name): Difference[] => {
    const path = `properties.${name}`;
    const [from, to] = [old.properties.get(name), planned.properties.get(name)];
    if (!from) return to ? [{ kind: 'added', event, path, text: to.type }] : [];
    if (!to) {
      const breaking = `occurrences with ${name} are refused`;
      return [{ kind: 'removed', event, path, text: from.type, breaking }];
    }
    return compareProperty({ event, path }, from, to);
  });
}

function compareProperty(
  { event, path }: Pick<Difference, 'event' | 'path'>,
  from: PlannedProperty,
  to: PlannedProperty,
): Difference[] {
  const changed = (field: 'label' | 'description' | 'type', breaking?: string): Difference[] =>
    from[field] === to[field]
      ? []
      : [
          {
            kind: 'changed',
            event,
            path: `${path}.${field}`,
            text: `${shown(from[field])} -> ${shown(to[field])}`,
            breaking,
          },
        ];
  return [
    ...changed('label'),
    ...changed('type', acceptsAllOf(from, to) ? undefined : `values of ${from.type} can be refused`),
    ...changed('description'),
    ...(from.type === 'enumeration' && to.type === 'enumeration' ? compareOptions({ event, path }, from, to) : []),
  ];
}

/** The types whose values are all accepted by another type. Text also has a maximum length. */
const WIDER: { readonly [Type in PropertyType]: readonly PropertyType[] } = {
  bool: ['string'],
  number: ['string'],
  date: ['datetime', 'string'],
  datetime: ['string'],
  enumeration: ['string'],
  string: [],
};

const acceptsAllOf = (from: PlannedProperty, to: PlannedProperty): boolean =>
  WIDER[from.type].includes(to.type) && from.options.every(({ value }) => !isLongerThan(value, maxTextLength(to.name)));

function compareOptions(
  { event, path }: Pick<Difference, 'event' | 'path'>,
  from: PlannedProperty,
  to: PlannedProperty,
): Difference[] {
  const [old, planned] = [from, to].map(({ options }) => new Map(options.map((option) => [option.value, option])));
  const at = { event, path: `${path}.options` };
  const removed = from.options.flatMap(({ value }): Difference[] =>
    planned?.has(value)
      ? []
      : [{ ...at, kind: 'removed', text: shown(value), breaking: `occurrences with this value are refused` }],
  );
  const added = to.options.flatMap(({ value }): Difference[] =>
    old?.has(value) ? [] : [{ ...at, kind: 'added', text: shown(value) }],
  );
  if (removed.length + added.length > 0 || isSame(from.options, to.options)) return [...removed, ...added];
  return [{ ...at, kind: 'changed', text: 'labels, descriptions or order' }];
}

const SIGNS = { added: '+', changed: '~', removed: '-' } as const;

/** One line for each difference, and their number. */
export function describeDifferences(differences: readonly Difference[]): string {
  if (differences.length === 0) return 'no differences\n';
  const lines = differences.map(({ kind, event, path, text, breaking }) => {
    const where = path === '' ? event : `${event}.${path}`;
    return `${SIGNS[kind]} ${where}: ${text}${breaking === undefined ? '' : ` [breaking: ${breaking}]`}`;
  });
  const count = differences.filter(({ breaking }) => breaking !== undefined).length;
  const noun = differences.length === 1 ? 'difference' : 'differences';
  return `${lines.join('\n')}\n${differences.length} ${noun}, ${count} breaking\n`;
}
