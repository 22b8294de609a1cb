import { flushCompileCache } from 'node:module';
import { auditFloorOf } from './core/audit-log-minimum.ts';
import { databaseTrouble } from './core/postgres/failures.ts';
import { createSignInLink } from './domains/identities/public.ts';
import { CompanySignIn } from './gateway/company-sign-in.ts';
import { workContext } from './gateway/contexts.ts';
import { createGateway } from './gateway/gateway.ts';
import { listen } from './gateway/http/listen.ts';
import { startFolding, startJobs } from './gateway/background-jobs.ts';
import { prepareScripts } from './gateway/pages/scripts.ts';
import { checkSecrets, prepareDatabase } from './gateway/prepare-database.ts';
import { DEMO_EMAIL, createDemoWorkspace } from './operator/demo-workspace.ts';
import { GRACE_MS, runService } from './operator/run-service.ts';
import { welcome } from './operator/welcome.ts';

await runService(async ({ config, assembly: { dependencies, embedded }, onStop }) => {
  await prepareDatabase(dependencies);
  await checkSecrets(dependencies);
  await new CompanySignIn(dependencies).check();
  const { days, loweredBy } = auditFloorOf(config);
  if (loweredBy)
    dependencies.log.warn({ days }, `organizations can cut their audit log to ${days} days, because of ${loweredBy}`);
  prepareScripts();
  // Without this, Node.js would spend seconds on writing compiled code at its end, after the first start of a version.
  flushCompileCache();
  const { HOST: host, PORT: port, KEEP_ALIVE_SECONDS } = config;
  const server = await listen(createGateway(dependencies), {
    host,
    port,
    variable: 'PORT',
    keepAliveTimeoutMs: KEEP_ALIVE_SECONDS * 1_000,
  });
  onStop(() => server.stop(GRACE_MS));
  dependencies.address.url = server.url;
  const folding = startFolding(dependencies);
  onStop(() => folding.stop());
  // A job would complete the sessions of the demo, whose lines are old, while these are recorded.
  const demoCreated = Promise.withResolvers<void>();
  if (config.RUN_JOBS) {
    const jobs = await startJobs(dependencies, demoCreated.promise);
    onStop(() => jobs.stop());
  }
  const onFault = (error: unknown) => {
    if (databaseTrouble(error) === 'away') throw error;
    dependencies.log.error(
      { err: error },
      `the demo workspace is incomplete; to create it again, stop the gateway, delete the folder ${config.DATA_DIR}, and start it`,
    );
  };
  // Last, because its key is shown only once, so nothing may fail after it was created.
  const demo = embedded && (await createDemoWorkspace(dependencies, onFault));
  demoCreated.resolve();
  const link = demo && (await createSignInLink(workContext(dependencies), DEMO_EMAIL).catch(onFault));
  return welcome(server.url, config, { key: demo?.key, token: link?.token });
});
