// Compares the executor with graphql on random schemas, documents and variables: `node test/support/executor/fuzz.ts
// SEED SCHEMAS DOCUMENTS RUNS`. It runs in a separate process, because it also compares unhandled rejections. Prints
// its figures as JSON.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DocumentNode, type ExecutionResult, type GraphQLSchema, execute } from 'graphql';
import { sizeOf } from '../../../src/core/answer-size.ts';
import { createExecutor, sizeOfResult } from '../../../src/graphql-executor/executor.ts';
import { asSent } from './schemas.ts';
import { type RandomChoices, choicesFrom } from './picks.ts';
import { type RandomDocument, randomDocument, randomVariables } from './random-documents.ts';
import { type RandomSchema, randomSchema } from './random-schema.ts';
import { executorOfError, currentExecutor } from './random-values.ts';

const [seed = 1, schemas = 10, documents = 10, runs = 5] = process.argv.slice(2).map(Number);

const figures = {
  schemas: 0,
  documents: 0,
  comparisons: 0,
  compiled: 0,
  'gave up': 0,
  'interpreted from the start': 0,
  mutations: 0,
  'comparisons of queries at once': 0,
  'answers whose errors differ below one null': 0,
};
const differences: string[] = [];

/** Unhandled rejections, by the executor that caused them. graphql-js causes some, too, for values that no field selects. */
const unhandled = new Map<string | undefined, Set<string>>();
process.on('unhandledRejection', (reason) => {
  const error = reason instanceof Error ? reason : new Error(String(reason));
  const who = executorOfError.get(error);
  unhandled.set(who, (unhandled.get(who) ?? new Set<string>()).add(error.message));
});

interface Sent {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string; readonly path?: readonly (string | number)[] }[];
}

async function compare(
  generated: RandomSchema,
  run: typeof execute,
  made: RandomDocument,
  pick: RandomChoices,
): Promise<void> {
  const { schema, calls } = generated;
  const variableValues = randomVariables(pick, made);
  const args = { schema, document: made.document, variableValues, rootValue: { seed: `root ${pick.number(0, 9)}` } };
  const finished = async (of: string, how: typeof execute): Promise<{ sent: Sent; called: string[] }> => {
    currentExecutor.name = of;
    calls.length = 0;
    const result = await how(args);
    compareSize(result, args.document);
    const sent = asSent(result) as Sent;
    const called = [...calls];
    // Wait for late rejections.
    await nextTurn();
    await nextTurn();
    return { sent, called };
  };
  unhandled.clear();
  const expected = await finished('reference', execute);
  const executed = await finished('compiled', run);
  figures.comparisons += 1;
  figures.mutations += Number(made.isMutation);
  const described = () => `${made.document.loc?.source.body}\n${JSON.stringify(variableValues)}`;
  if (JSON.stringify(executed.sent.data) !== JSON.stringify(expected.sent.data))
    differences.push(`data: ${described()}\n${JSON.stringify(expected.sent)}\n${JSON.stringify(executed.sent)}`);
  if (!haveSameErrors(expected.sent, executed.sent))
    differences.push(`errors: ${described()}\n${JSON.stringify(expected.sent)}\n${JSON.stringify(executed.sent)}`);
  if (JSON.stringify(executed.called) !== JSON.stringify(expected.called)) differences.push(`calls: ${described()}`);
  const left = [...(unhandled.get('compiled') ?? [])].filter((message) => !unhandled.get('reference')?.has(message));
  if (left.length > 0) differences.push(`unhandled: ${described()}\n${left.join('\n')}`);
}

/** The size that compiled code adds up must not be less than the size found by walking the result. */
function compareSize(result: ExecutionResult, { loc }: DocumentNode): void {
  const size = sizeOfResult(result);
  if (size === undefined) return;
  const [least, most] = [sizeOf(result.data), JSON.stringify(result).length * 2];
  if (size < least || size > most) differences.push(`size ${size} of ${least}: ${loc?.source.body}`);
}

/** Compares several concurrent executions of one document. */
async function compareConcurrent(
  { schema }: RandomSchema,
  run: typeof execute,
  made: RandomDocument,
  pick: RandomChoices,
): Promise<void> {
  const requests = Array.from({ length: 4 }, () => ({
    schema,
    document: made.document,
    variableValues: randomVariables(pick, made),
    rootValue: { seed: `root ${pick.number(0, 9)}` },
  }));
  currentExecutor.name = 'at once';
  const answersOf = (how: typeof execute) => Promise.all(requests.map(async (args) => asSent(await how(args)) as Sent));
  const [expected, executed] = [await answersOf(execute), await answersOf(run)];
  figures['comparisons of queries at once'] += requests.length;
  for (const [index, { data }] of expected.entries()) {
    if (JSON.stringify(executed[index]?.data) !== JSON.stringify(data))
      differences.push(
        `at once: ${made.document.loc?.source.body}\n${JSON.stringify(requests[index]?.variableValues)}`,
      );
  }
}

/** Timing decides which of several errors below one null are reported (GraphQL, section 6.4.4). */
function haveSameErrors(expected: Sent, executed: Sent): boolean {
  if (JSON.stringify(expected.errors) === JSON.stringify(executed.errors)) return true;
  const keys = [expected, executed].map(({ errors = [] }) => new Set(errors.map((error) => JSON.stringify(error))));
  const differing = [expected, executed].flatMap(({ errors = [] }) =>
    errors.filter((error) => !keys.every((known) => known.has(JSON.stringify(error)))),
  );
  if (!differing.every(({ path = [] }) => isBelowNull(expected.data, path))) return false;
  figures['answers whose errors differ below one null'] += 1;
  return true;
}

function isBelowNull(data: unknown, path: readonly (string | number)[]): boolean {
  let value = data;
  for (const key of path.slice(0, -1)) {
    if (value === null || value === undefined) return true;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value === null || value === undefined;
}

function observed(schema: GraphQLSchema): typeof execute {
  return createExecutor(schema, {
    runsBeforeCompiling: 1,
    sizeOf,
    maxPause: 0,
    onExecution: (path, reason, field) => {
      if (path === 'compiled') figures.compiled += 1;
      if (path === 'gave_up') figures['gave up'] += 1;
      if (path === 'interpreted') {
        figures['interpreted from the start'] += 1;
        currentExecutor.name = 'interpreted';
      }
      if (reason === 'compiler_failed') differences.push(`compiler failed at ${field}`);
    },
    beforeRetry: () => void (currentExecutor.name = 'retry'),
  });
}

for (let number = 0; number < schemas && differences.length === 0; number += 1) {
  const pick = choicesFrom(seed + number);
  const generated = randomSchema(pick, pick.of([0, 0, 0.01, 0.05, 0.2]));
  const run = observed(generated.schema);
  figures.schemas += 1;
  for (let index = 0; index < documents && differences.length === 0; index += 1) {
    const made = randomDocument(pick, generated.schema);
    if (!made) continue;
    figures.documents += 1;
    for (let time = 0; time < runs; time += 1) await compare(generated, run, made, pick);
    if (!made.isMutation) await compareConcurrent(generated, run, made, pick);
  }
  if (differences.length > 0) differences.push(`seed ${seed + number}`);
}
process.stdout.write(JSON.stringify({ figures, differences }));
