import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '../../core/config.ts';

/** Texts of the trusted documents by id. An id is the id of a build tool, the name of a file, or the SHA-256 of the text. */
export type TrustedDocuments = ReadonlyMap<string, string>;

const text = z.string().min(1);
/** The file of Relay's compiler: texts by id (`persistConfig.file`). */
const relayFile = z.record(z.string().min(1), text);
/** Apollo's persisted query manifest, version 1. */
const apolloFile = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.literal(1),
  operations: z.array(z.object({ id: z.string().min(1), body: text })),
});

/**
 * Reads `PERSISTED_OPERATIONS`: a JSON file of Relay's compiler, Apollo's manifest, a GraphQL file whose name is the
 * id, or a folder of such files. The documents are checked when they are requested, with the same limits and rules as
 * all documents.
 * @throws ConfigurationError for files that cannot be read or have another format, and for an id of two documents.
 */
export async function readTrustedDocuments(path: string | undefined): Promise<TrustedDocuments> {
  const documents = new Map<string, string>();
  if (path === undefined) return documents;
  for (const file of await filesAt(path).catch(unusable)) {
    for (const [id, document] of entriesOf(file, await readFile(file, 'utf8').catch(unusable))) {
      for (const name of [id, sha256(document)]) {
        const known = documents.get(name);
        if (known !== undefined && known !== document) unusable(new Error(`two documents have the id ${name}`));
        documents.set(name, document);
      }
    }
  }
  if (documents.size === 0) unusable(new Error('there are no documents'));
  return documents;
}

export function sha256(document: string): string {
  return createHash('sha256').update(document).digest('hex');
}

async function filesAt(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  return names.filter((name) => /\.(?:json|graphql|gql)$/.test(name)).map((name) => join(path, name));
}

function entriesOf(file: string, content: string): (readonly [id: string, document: string])[] {
  const extension = extname(file);
  if (extension !== '.json') return [[basename(file, extension), content]];
  const manifest = z.union([apolloFile, relayFile]).safeParse(parsed(file, content));
  if (!manifest.success) unusable(new Error(`${file} must be a file of Relay's compiler or an Apollo manifest`));
  const { data } = manifest;
  return isApollo(data) ? data.operations.map(({ id, body }) => [id, body] as const) : Object.entries(data);
}

function isApollo(
  manifest: z.output<typeof apolloFile> | z.output<typeof relayFile>,
): manifest is z.output<typeof apolloFile> {
  return Array.isArray(manifest['operations']);
}

function parsed(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return unusable(new Error(`${file} is not well-formed JSON`));
  }
}

function unusable(cause: unknown): never {
  throw new ConfigurationError(`PERSISTED_OPERATIONS: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  });
}
