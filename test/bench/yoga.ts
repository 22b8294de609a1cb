import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type ExecutionArgs, buildSchema, execute } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { type Plugin, createYoga } from 'graphql-yoga';
import { authenticate, baseline } from './baseline-database.ts';
import type { Caller } from './baseline-core.ts';
import { graphqlDefinition } from './baseline-definitions.ts';
import { graphqlEvents } from './baseline-events.ts';
import { graphqlSessionsInPart } from './baseline-sessions.ts';
import { serve } from './serve.ts';

/**
 * A tuned server on GraphQL Yoga: the schema of the gateway, the statements of the baseline, the key looked up on every request, documents
 * parsed and validated once, compiled by graphql-jit. Nothing is limited, counted or logged.
 */

interface Context {
  readonly caller: Caller;
}

const schema = buildSchema(readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8'), {
  assumeValid: true,
});
const fields = schema.getQueryType()?.getFields() ?? {};

/** All other fields are members of what these return. */
function resolve<Args>(name: string, resolver: (args: Args, caller: Caller) => Promise<object>): void {
  const field = fields[name];
  if (!field) throw new Error(`there is no ${name}`);
  field.resolve = async (_, args: Args, { caller }: Context) =>
    Object.values(await resolver(args, caller))[0] as unknown;
}

resolve<{ sessionId: string; after: string }>('sessionEvents', ({ sessionId, after }, caller) =>
  graphqlEvents(baseline, caller, { id: sessionId, after }, asJson),
);
resolve<{ name: string }>('eventDefinition', (args, caller) => graphqlDefinition(baseline, caller, args));
resolve('viewer', (_, caller) => graphqlSessionsInPart(baseline, caller));
const asJson = ({ eventData }: { eventData: unknown }) => ({ eventDataJson: eventData });

type Answer = Record<string, unknown>;
const compiled = new WeakMap<object, ReturnType<typeof compileQuery<Answer, Answer>>>();

function executeCompiled(args: ExecutionArgs) {
  const { document, operationName, contextValue, variableValues } = args;
  let query = compiled.get(document);
  if (!query)
    compiled.set(document, (query = compileQuery<Answer, Answer>(schema, document, operationName ?? undefined)));
  return isCompiledQuery(query) ? query.query(undefined, contextValue, variableValues) : execute(args);
}

const withCompiler: Plugin = { onExecute: ({ setExecuteFn }) => setExecuteFn(executeCompiled) };
const yoga = createYoga<object, Context>({
  schema,
  context: async ({ request }) => {
    const caller = await authenticate(request.headers.get('authorization') ?? '');
    if (!caller) throw new Error('the key is unknown');
    return { caller };
  },
  plugins: [withCompiler],
  graphiql: false,
  landingPage: false,
  logging: false,
  maskedErrors: false,
  multipart: false,
});

serve(createServer((request, response) => void yoga(request, response)));
