/** A message with the value names of each API: REST uses `inProgress`, GraphQL `IN_PROGRESS`. */
export interface Wording {
  readonly rest: string;
  readonly graphql: string;
}

/** A message, the same for both APIs or one for each. */
export type Message = string | Wording;

/** Builds a message from text and enumeration values: ``wording`must not be given with authType ${enumValue(authType)}` ``. */
export function wording(strings: TemplateStringsArray, ...parts: readonly (Message | number)[]): Wording {
  const said = (api: keyof Wording) => (part: Message | number) =>
    typeof part === 'object' ? part[api] : String(part);
  return {
    rest: String.raw({ raw: strings }, ...parts.map(said('rest'))),
    graphql: String.raw({ raw: strings }, ...parts.map(said('graphql'))),
  };
}

/** Joins sentences by spaces, without the empty ones. */
export function sentences(...parts: readonly Message[]): Wording {
  const joined = (said: (part: Message) => string) =>
    parts
      .map(said)
      .filter((part) => part !== '')
      .join(' ');
  return { rest: joined(inRest), graphql: joined(inGraphQL) };
}

/** A number with its noun: `1 item`, `2 items`. */
export const counted = (count: number | bigint, noun: string): string =>
  `${count} ${noun}${Number(count) === 1 ? '' : 's'}`;

/** An enumeration value in a message. */
export const enumValue = (value: string): Wording => ({ rest: value, graphql: enumName(value) });

/** Several enumeration values: `queued or inProgress`. */
export const enumValues = (values: readonly string[], separator = ', '): Wording => ({
  rest: values.join(separator),
  graphql: values.map(enumName).join(separator),
});

/** The GraphQL name of a value: `inProgress` and `sessions.read` become `IN_PROGRESS` and `SESSIONS_READ`. */
export const enumName = (value: string): string =>
  value
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase();

export const inRest = (message: Message): string => (typeof message === 'string' ? message : message.rest);

export const inGraphQL = (message: Message): string => (typeof message === 'string' ? message : message.graphql);
