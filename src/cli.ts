import { readConfig } from './core/config.ts';
import { assemble } from './gateway/assemble.ts';
import { prepareDatabase } from './gateway/prepare-database.ts';
import { createLog } from './gateway/telemetry/logging.ts';
import { USAGE, parseCommandLine } from './operator/command-line.ts';
import { runCommand } from './operator/commands.ts';

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommandLine(args);
  if (command.name === 'help') {
    process.stdout.write(USAGE);
    return;
  }
  const config = readConfig(process.env);
  // Standard output is for the answer alone.
  const assembly = await assemble(config, createLog('silent'), { joinRunning: true });
  try {
    await prepareDatabase(assembly.dependencies);
    const answer = await runCommand(assembly.dependencies, command, process.stderr);
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  } finally {
    await assembly.close();
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
