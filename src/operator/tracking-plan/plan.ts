import type { PropertyType } from '../../domains/event-definitions/public.ts';

/** A tracking plan: events and their custom properties, by name. What a file leaves out has its default here, so that plans can be compared. */
export type Plan = ReadonlyMap<string, PlannedEvent>;

export interface PlannedEvent {
  readonly name: string;
  readonly label: string;
  /** Empty for none, as in the REST API. */
  readonly description: string;
  readonly primaryObject: string;
  readonly includeDefaultProperties: boolean;
  readonly customMatchingId: CustomMatching | undefined;
  readonly properties: ReadonlyMap<string, PlannedProperty>;
}

export interface CustomMatching {
  readonly targetObjectPropertyName: string;
  readonly eventPropertyName: string;
}

export interface PlannedProperty {
  readonly name: string;
  readonly label: string;
  readonly type: PropertyType;
  readonly description: string;
  /** In their order; empty for every type except `enumeration`. */
  readonly options: readonly PlannedOption[];
}

export interface PlannedOption {
  readonly value: string;
  readonly label: string;
  readonly description: string;
  readonly hidden: boolean;
  readonly displayOrder: number;
}

/** A map by name, sorted by name. */
export function sortedByName<Named extends { readonly name: string }>(items: Iterable<Named>): Map<string, Named> {
  const sorted = [...items].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return new Map(sorted.map((item) => [item.name, item]));
}
