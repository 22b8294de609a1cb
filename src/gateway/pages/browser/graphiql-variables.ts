// Fills the variables of an example with objects of the workspace.
import type { Example, Fills } from './graphiql-examples.ts';

interface Nodes<Node> {
  readonly nodes: readonly Node[];
}

interface Session {
  readonly databaseId: string;
  readonly viewerCanRecord: boolean;
  readonly state: { readonly current: string };
}

interface Definition {
  readonly name: string;
  readonly primaryObject: string;
  readonly occurrences: Nodes<object> | null;
}

/** The organization in the answer of `LATEST`. A list is null if the key lacks its scope. */
export interface Workspace {
  readonly sessions: Nodes<Session> | null;
  readonly eventDefinitions: Nodes<Definition> | null;
}

/**
 * An example with its variables. Where there is no object for them, it is the example that creates one, so that what is opened can always be
 * run. Without a workspace, as for a visitor, the variables stay as they are.
 */
export function openedExample(
  example: Example,
  workspace: Workspace | null | undefined,
  examples: readonly Example[],
): Example {
  const { fills, name, variables } = example;
  const list = fills && workspace?.[LIST_OF[fills]];
  if (!list) return example;
  const found = valuesFor(fills, workspace);
  if (found) return { ...example, variables: { ...variables, ...found } };
  const [noun, creation] = CREATION[LIST_OF[fills]];
  const first = examples.find((each) => each.name === creation) ?? example;
  return {
    ...first,
    query: `# There is no ${noun} for it yet. Run this, then\n# open "${name}" again.\n${first.query}`,
  };
}

const LIST_OF: Readonly<Record<Fills, keyof Workspace>> = {
  sessionId: 'sessions',
  openSessionId: 'sessions',
  nextState: 'sessions',
  eventName: 'eventDefinitions',
  contactEventName: 'eventDefinitions',
};

const CREATION = {
  sessions: ['session', 'Create a session'],
  eventDefinitions: ['event', 'Create a definition'],
} as const;

const NEXT_STATE: Readonly<Record<string, string>> = { QUEUED: 'IN_PROGRESS', IN_PROGRESS: 'COMPLETED' };

function valuesFor(fills: Fills, { sessions, eventDefinitions }: Workspace): object | undefined {
  const listed = sessions?.nodes ?? [];
  const own = listed.filter(({ viewerCanRecord }) => viewerCanRecord);
  const definitions = eventDefinitions?.nodes ?? [];
  const [latest] = own;
  return {
    sessionId: withId(listed[0]),
    openSessionId: withId(own.find(({ state }) => state.current in NEXT_STATE)),
    nextState: latest && { ...withId(latest), state: NEXT_STATE[latest.state.current] ?? 'QUEUED' },
    eventName: withName(definitions.find(({ occurrences }) => occurrences?.nodes.length) ?? definitions[0]),
    contactEventName: withName(definitions.find(({ primaryObject }) => primaryObject === 'CONTACT')),
  }[fills];
}

const withId = (session: Session | undefined): object | undefined => session && { sessionId: session.databaseId };

const withName = (definition: Definition | undefined): object | undefined =>
  definition && { eventName: definition.name };
