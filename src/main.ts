import { flushCompileCache } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Config, ConfigurationError, SETTINGS, readConfig } from './core/config.ts';
import { STOP_SIGNALS, endProcess } from './core/end-process.ts';
import { misspelledVariables } from './core/misspelled-variables.ts';
import type { JobWorker } from './core/jobs.ts';
import { type Assembly, assemble } from './gateway/assemble.ts';
import { DEMO_EMAIL, createDemoWorkspace } from './operator/demo-workspace.ts';
import { welcome } from './operator/welcome.ts';
import { createSignInLink } from './domains/identities/public.ts';
import { workContext } from './gateway/contexts.ts';
import { createGateway } from './gateway/gateway.ts';
import { CompanySignIn } from './gateway/company-sign-in.ts';
import { startJobs } from './gateway/jobs.ts';
import { checkSecrets, databaseFault, databaseVariable, prepareDatabase } from './gateway/prepare-database.ts';
import { createLog } from './gateway/telemetry/logging.ts';
import { listen } from './gateway/http/listen.ts';
import type { RunningServer } from './gateway/http/server.ts';

/**
 * Time for running requests to finish after SIGTERM, and for the database to close. The whole stop takes at most 10 s,
 * even on a busy machine.
 */
const GRACE_MS = 6_000;
const CLOSING_MS = 2_000;

async function main(config: Config): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  for (const line of misspelledVariables(process.env, SETTINGS)) log.warn(line);
  const assembly = await assemble(config, log);
  try {
    await prepareDatabase(assembly.dependencies);
    await checkSecrets(assembly.dependencies);
    await new CompanySignIn(assembly.dependencies).check();
    // Without this, Node.js would spend seconds on writing compiled code at its end, after the first start of a version.
    flushCompileCache();
    const { HOST: host, PORT: port } = config;
    const server = await listen(createGateway(assembly.dependencies), { host, port, variable: 'PORT' });
    assembly.dependencies.address.url = server.url;
    const jobs = config.RUN_JOBS ? await startJobs(assembly.dependencies) : undefined;
    stopOnSignal(assembly, server, jobs);
    // Last, because its key is shown only once, so nothing may fail after it was created.
    const demo = assembly.embedded && (await createDemoWorkspace(assembly.dependencies));
    const link = demo && (await createSignInLink(workContext(assembly.dependencies), DEMO_EMAIL));
    process.stdout.write(welcome(server.url, config, { key: demo?.key, token: link?.token }));
  } catch (error) {
    await assembly.close();
    throw databaseFault(error, databaseVariable(config));
  }
}

/** Stops accepting requests, finishes running ones, returns jobs, closes the database, exits with 0. */
function stopOnSignal(assembly: Assembly, server: RunningServer, jobs: JobWorker | undefined): void {
  let stopping: Promise<void> | undefined;
  const stop = async (code: number) => {
    // Errors here, and statements that still run, end with the process.
    await Promise.allSettled([server.stop(GRACE_MS), Promise.race([jobs?.stop(), delay(GRACE_MS)])]);
    await Promise.allSettled([Promise.race([assembly.close(), delay(CLOSING_MS)])]);
    endProcess(code);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, () => void (stopping ??= stop(0)));
  void assembly.embedded?.ended.then((how) => {
    if (stopping) return;
    assembly.dependencies.log.fatal(how);
    stopping = stop(1);
  });
}

try {
  await main(readConfig(process.env));
} catch (error) {
  // One line for errors that an operator can fix; the whole error for others.
  process.stderr.write(`${error instanceof ConfigurationError ? error.message : inspect(error)}\n`);
  process.exit(1);
}
