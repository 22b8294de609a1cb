/** The ways in which a caller may have written which definition is meant. */
export interface DefinitionReference {
  readonly names: readonly string[];
  readonly id: string | null;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `pe<organization number>_<name>`, unless it is a UUID; names that could not exist refer to nothing. */
export function referenceTo(eventName: string, organizationNumber: number): DefinitionReference {
  const prefix = `pe${organizationNumber}_`;
  const possible = eventName.startsWith(prefix) ? [eventName, eventName.slice(prefix.length)] : [eventName];
  return { names: possible.filter((name) => !name.includes('\0')), id: UUID.test(eventName) ? eventName : null };
}
