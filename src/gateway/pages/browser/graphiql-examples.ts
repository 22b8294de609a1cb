import { readFileSync } from 'node:fs';

/** An example operation. A test runs all of them. */
export interface Example {
  readonly noun: string;
  readonly name: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** A variable that the page sets to the latest object of its type, if the caller can see one. */
  readonly fills?: 'sessionId' | 'eventName';
}

/** Reads the values for `fills`. */
export const LATEST = `query Latest {
  viewer {
    organization {
      sessions(first: 1) { nodes { databaseId } }
      eventDefinitions(first: 50) {
        nodes { name occurrences(first: 1) { nodes { receivedAt } } }
      }
    }
  }
}`;

/** The page gets the constants of this module as its values, because a browser cannot read the file. */
export const EXAMPLES: readonly Example[] = readFileSync(new URL('graphiql-examples.graphql', import.meta.url), 'utf8')
  .split(/^(?=## [^:]+: [A-Z])/m)
  .map(exampleOf);

/** An operation below its subject and name, its variables, and the variable that the page fills. */
function exampleOf(text: string): Example {
  const [, noun = '', name = '', variables, fills, query = ''] =
    /^## ([^:]+): (.+)\n(?:## variables: (.+)\n)?(?:## fills: (sessionId|eventName)\n)?([^]+)$/.exec(text) ?? [];
  return {
    noun,
    name,
    query: `${query.trimEnd()}\n`,
    ...(variables !== undefined && { variables: JSON.parse(variables) as Record<string, unknown> }),
    ...(fills !== undefined && { fills: fills as Example['fills'] }),
  };
}
