/** A message that each API words with its own names of values: REST says `inProgress`, GraphQL `IN_PROGRESS`. */
export interface Wording {
  readonly rest: string;
  readonly graphql: string;
}

/** A message, in one wording for both APIs or in two. */
export type Message = string | Wording;

/** Makes a message of texts and values of enumerations: ``wording`must not be given with authType ${enumValue(authType)}` ``. */
export function wording(strings: TemplateStringsArray, ...parts: readonly (Message | number)[]): Wording {
  const said = (api: keyof Wording) => (part: Message | number) =>
    typeof part === 'object' ? part[api] : String(part);
  return {
    rest: String.raw({ raw: strings }, ...parts.map(said('rest'))),
    graphql: String.raw({ raw: strings }, ...parts.map(said('graphql'))),
  };
}

/** A value of an enumeration. */
export function enumValue(value: string): Wording {
  return { rest: value, graphql: enumName(value) };
}

/** Several of them: `queued or inProgress`. */
export function enumValues(values: readonly string[], separator = ', '): Wording {
  return { rest: values.join(separator), graphql: values.map(enumName).join(separator) };
}

/** How GraphQL spells a value: `inProgress` and `sessions.read` become `IN_PROGRESS` and `SESSIONS_READ`. */
export function enumName(value: string): string {
  return value
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase();
}

export function inRest(message: Message): string {
  return typeof message === 'string' ? message : message.rest;
}

export function inGraphQL(message: Message): string {
  return typeof message === 'string' ? message : message.graphql;
}
