import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from '../../core/config.ts';

/** A file with one GraphQL operation, which is a tool. */
export interface McpDocument {
  readonly file: string;
  readonly text: string;
}

/** The documents of the gateway, and those of the operator's folder (`MCP_DOCUMENTS`). @throws ConfigurationError if the folder cannot be read. */
export async function readMcpDocuments(folder: string | undefined): Promise<McpDocument[]> {
  const builtIn = await documentsIn(join(import.meta.dirname, 'documents'));
  if (folder === undefined) return builtIn;
  try {
    const own = await documentsIn(folder);
    if (own.length === 0) throw new Error(`there are no .graphql files in ${folder}`);
    return [...builtIn, ...own];
  } catch (error) {
    throw new ConfigurationError(`MCP_DOCUMENTS: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function documentsIn(folder: string): Promise<McpDocument[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(?:graphql|gql)$/.test(name));
  return Promise.all(
    names.toSorted().map(async (name) => {
      const file = join(folder, name);
      return { file, text: await readFile(file, 'utf8') };
    }),
  );
}
