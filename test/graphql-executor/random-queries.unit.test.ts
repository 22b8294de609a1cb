import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { seed } from '../support/exploration.ts';
import { NODE_ENVIRONMENT, checkout } from '../support/processes/programs.ts';
import { full, proof } from '../support/proof.ts';

interface Outcome {
  readonly figures: Readonly<Record<string, number>>;
  readonly differences: readonly string[];
}

/** The number of schemas, of documents for each schema, and of executions of each document. */
const SIZE = full ? [3000, 12, 8] : [50, 8, 5];

test(`random queries get the same answers as from graphql and cause no other unhandled rejections (SEED=${seed})`, async () => {
  const script = ['--no-warnings', 'test/support/executor/fuzz.ts', seed, ...SIZE].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, script, {
    cwd: checkout,
    env: { ...process.env, ...NODE_ENVIRONMENT },
    maxBuffer: 2 ** 26,
  });
  const { figures, differences } = JSON.parse(stdout) as Outcome;
  expect(differences).toEqual([]);
  const often = ['compiled', 'gave up', 'interpreted from the start', 'mutations'].filter(
    (way) => (figures[way] ?? 0) > 50,
  );
  expect(often).toHaveLength(4);
  proof('Compiled queries of random schemas', { figures: { ...figures, 'different answers': 0, seed } });
});
