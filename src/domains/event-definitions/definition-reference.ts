/** The possible meanings of `eventName`: a name, a fully qualified name, or an id. */
export interface DefinitionReference {
  readonly names: readonly string[];
  readonly id: string | null;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `names` contains the text itself and then the name within a fully qualified name (`pe<organization number>_<name>`). */
export function referenceTo(eventName: string, organizationNumber: number): DefinitionReference {
  const prefix = `pe${organizationNumber}_`;
  const possible = eventName.startsWith(prefix) ? [eventName, eventName.slice(prefix.length)] : [eventName];
  return { names: possible.filter((name) => !name.includes('\0')), id: UUID.test(eventName) ? eventName : null };
}
