/** The channels on which graphql publishes executions (node:diagnostics_channel). */
const NAMES = [
  'graphql:execute',
  'graphql:execute:variableCoercion',
  'graphql:execute:rootSelectionSet',
  'graphql:resolve',
];

// As graphql gets it: in its place other platforms have nothing.
const channels = NAMES.flatMap(
  (name) => globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')?.tracingChannel(name) ?? [],
);

/** Whether somebody follows executions, which only graphql publishes. */
export function isTraced(): boolean {
  return channels.some(({ hasSubscribers }) => hasSubscribers);
}
