import type * as Client from '@modelcontextprotocol/client';
import type * as Server from '@modelcontextprotocol/server';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * The official packages of the Model Context Protocol. Each is loaded when it is first used: together they take 19 MB and delay each start,
 * also that of a process that never talks to an MCP client or server.
 */

const require = createRequire(import.meta.url);

function lazily<Package>(name: string): () => Package {
  let loaded: Package | undefined;
  // By its address, because a package that is required by its name would be the one for CommonJS, with all that it needs a second time.
  return () => (loaded ??= require(fileURLToPath(import.meta.resolve(name))) as Package);
}

export const mcpClient = lazily<typeof Client>('@modelcontextprotocol/client');
export const mcpServer = lazily<typeof Server>('@modelcontextprotocol/server');
