/** An example operation. A test runs all of them. */
export interface Example {
  readonly noun: string;
  readonly name: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The variables that the page sets to an object of the workspace (`graphiql-variables.ts`). */
  readonly fills?: Fills;
}

export type Fills = 'sessionId' | 'openSessionId' | 'nextState' | 'eventName' | 'contactEventName';

/** Reads the objects for `fills`. */
export const LATEST = `query Latest {
  viewer {
    organization {
      sessions(first: 20) { nodes { databaseId viewerCanRecord state { current } } }
      eventDefinitions(first: 50) {
        nodes { name primaryObject occurrences(first: 1) { nodes { receivedAt } } }
      }
    }
  }
}`;

/** The examples of the file `graphiql-examples.graphql`. */
export const examplesIn = (text: string): readonly Example[] => text.split(/^(?=## [^:]+: [A-Z])/m).map(exampleOf);

/** An operation below its subject and name, its variables, and what the page fills in. */
function exampleOf(text: string): Example {
  const [, noun = '', name = '', variables, fills, query = ''] =
    /^## ([^:]+): (.+)\n(?:## variables: (.+)\n)?(?:## fills: (\w+)\n)?([^]+)$/.exec(text) ?? [];
  return {
    noun,
    name,
    query: `${query.trimEnd()}\n`,
    ...(variables !== undefined && { variables: JSON.parse(variables) as Record<string, unknown> }),
    ...(fills !== undefined && { fills: fills as Fills }),
  };
}
