import { ConfigurationError, readConfig } from './core/config.ts';
import { migrate } from './core/database.ts';
import { type Assembly, assemble } from './gateway/assemble.ts';
import { type IssuedKey, createDemoWorkspace } from './gateway/demo.ts';
import { createGateway } from './gateway/gateway.ts';
import { createLog } from './gateway/logging.ts';
import { type RunningServer, serve } from './gateway/server.ts';

/** Running requests get this long to finish after SIGTERM; the whole stop takes at most 10 s. */
const GRACE_MS = 6_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config.LOG_LEVEL);
  const assembly = await assemble(config, log);
  try {
    await migrate(assembly.dependencies.database);
    const demo = assembly.embedded ? await createDemoWorkspace(assembly.dependencies) : undefined;
    const server = await serve(createGateway(assembly.dependencies), { host: config.HOST, port: config.PORT });
    stopOnSignal(server, assembly);
    process.stdout.write(welcome(server.url, demo));
  } catch (error) {
    await assembly.close();
    throw error;
  }
}

/** Stop accepting, finish what runs, close the database, exit 0. */
function stopOnSignal(server: RunningServer, assembly: Assembly): void {
  let stopping: Promise<void> | undefined;
  const stop = async (code: number) => {
    await server.stop(GRACE_MS);
    await assembly.close();
    process.exitCode = code;
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void (stopping ??= stop(0)));
  void assembly.embedded?.exited.then(() => {
    if (stopping) return;
    assembly.dependencies.log.fatal('the embedded PostgreSQL has ended unexpectedly');
    stopping = stop(1);
  });
}

function welcome(url: string, demo: IssuedKey | undefined): string {
  const key = demo?.key ?? '$KEY';
  return `
  Workspace gateway is ready.

    GraphiQL        ${url}/graphql
    REST reference  ${url}/docs
    API key         ${demo ? `${demo.key}   (shown this once)` : 'make one with: npm run --silent cli -- keys create --email you@example.com --organization demo'}

    curl ${url}/events/2026-03/event-definitions -H "Authorization: Bearer ${key}"

`;
}

try {
  await main();
} catch (error) {
  // One line for what an operator can mend; the whole error for what they cannot.
  const known = error instanceof ConfigurationError || (error instanceof Error && 'code' in error) || (error instanceof Error && error.name === 'EmbeddedPostgresError');
  process.stderr.write(`${known ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
  process.exit(1);
}
