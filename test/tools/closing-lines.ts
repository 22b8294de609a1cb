import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestModule, TestRunEndReason, Vitest } from 'vitest/node';

/** What a run of vitest writes to the folder `TEST_SUMMARIES`, if set, for `npm run test:all`. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
  /** A line for each test or file that failed, with the first line of its error. */
  readonly failures: readonly string[];
  /** What did not run, and why. */
  readonly notRun: readonly string[];
}

/** A reporter of vitest: ends a run with what it did not run, and why. */
export default class ClosingLines implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], _errors: unknown, reason: TestRunEndReason): void {
    const isFiltered = this.#vitest?.config.testNamePattern !== undefined;
    const notRun = [...(isFiltered ? [] : skippedIn(modules)), ...[process.env['NOT_RUN'] ?? []].flat()];
    const lines = [...notRun, ...leftOutOf(modules)];
    // After the summary of the default reporter.
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
    const folder = process.env['TEST_SUMMARIES'];
    if (folder === undefined) return;
    const numberOf = (state: 'passed' | 'failed') =>
      modules.reduce((sum, { children }) => sum + [...children.allTests(state)].length, 0);
    const [passed, failed] = [numberOf('passed'), numberOf('failed')];
    // A file that cannot be loaded, or an error outside of a test, has no test that failed.
    const summary: TestSummary = {
      passed,
      failed: reason === 'passed' ? failed : Math.max(1, failed),
      failures: failuresIn(modules),
      notRun,
    };
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(summary));
  }
}

function failuresIn(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) => {
    const line = (name: string, errors: readonly { message: string }[] = []) =>
      `Failed: ${module.relativeModuleId}${name}: ${errors[0]?.message.split('\n', 1)[0] ?? 'no error'}`;
    const ofTests = [...module.children.allTests('failed')].map((test) =>
      line(` > ${test.fullName}`, test.result().errors),
    );
    const errors = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
    return [...ofTests, ...(errors.length > 0 ? [line('', errors)] : [])];
  });
}

/** A line for each reason. */
function skippedIn(modules: readonly TestModule[]): string[] {
  const skipped = modules.flatMap((module) =>
    [...module.children.allTests('skipped')].map((test) => {
      const result = test.result();
      const note = result.state === 'skipped' ? result.note : undefined;
      return { file: module.relativeModuleId, reason: note ?? 'no reason given' };
    }),
  );
  const byReason = Object.entries(Object.groupBy(skipped, ({ reason }) => reason));
  return byReason.map(([reason, tests = []]) => {
    const files = [...new Set(tests.map(({ file }) => file))];
    return `Skipped: ${tests.length} ${tests.length === 1 ? 'test' : 'tests'} of ${files.join(', ')}: ${reason}`;
  });
}

/** In a run of `npm test`: what its sample left out, and the command that runs it. */
function leftOutOf(modules: readonly TestModule[]): string[] {
  const seed = process.env['SAMPLE_SEED'];
  const sweeps = modules.flatMap((module) => module.meta().sweeps ?? []);
  if (seed === undefined || process.env['SAMPLE_REST'] !== undefined || sweeps.length === 0) return [];
  const sum = (name: 'cases' | 'leftOut') =>
    sweeps.reduce((total, each) => total + each[name], 0).toLocaleString('en-US');
  return [
    `Not run: ${sum('leftOut')} of ${sum('cases')} cases of sweeps (SAMPLE_SEED=${seed} takes the same sample again), and the tests of processes, failures, pages and clients. Everything runs with: npm run test:all`,
  ];
}
