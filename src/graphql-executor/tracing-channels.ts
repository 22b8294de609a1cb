/** The channels on which graphql-js publishes executions (node:diagnostics_channel). */
const NAMES = [
  'graphql:execute',
  'graphql:execute:variableCoercion',
  'graphql:execute:rootSelectionSet',
  'graphql:resolve',
];

// Loaded like in graphql-js; other platforms do not have it.
const channels = NAMES.flatMap(
  (name) => globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')?.tracingChannel(name) ?? [],
);

/** Whether anybody subscribes to executions, which only graphql-js publishes. */
export function isTraced(): boolean {
  return channels.some(({ hasSubscribers }) => hasSubscribers);
}
