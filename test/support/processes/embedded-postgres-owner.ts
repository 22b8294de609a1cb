// Owns an embedded PostgreSQL until it is killed: `embedded-postgres-owner.ts DATA_DIR [SETTING=VALUE]...`.
// Prints {"url","pid"} on one line, or {"error"} and exits with status 1. SIGTERM stops it properly. SIGINT is
// ignored, as by a gateway that still answers its last requests.
import { startEmbeddedPostgres } from '../../../src/core/postgres/embedded/server.ts';

process.on('SIGINT', () => {});

const [dataDir = '', ...settings] = process.argv.slice(2);

try {
  const server = await startEmbeddedPostgres({
    dataDir,
    log: (line) => console.error(line),
    settings: Object.fromEntries(settings.map((setting) => setting.split('='))),
  });
  process.once('SIGTERM', () => void server.stop());
  console.log(JSON.stringify({ url: server.url, pid: server.pid }));
} catch (error) {
  console.log(JSON.stringify({ error: error instanceof Error ? error.message : error }));
  process.exitCode = 1;
}
