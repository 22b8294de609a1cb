import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { type DocumentNode, GraphQLError } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ConfigurationError } from '../../core/config.ts';
import { invalid } from '../../core/errors.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import type { NamedClient } from '../../domains/operation-manifests/public.ts';
import { memoryOf } from '../../graphql-executor/document-size.ts';

/** Cache of valid documents by their text. Its memory is bounded, because clients choose the documents. */
export const createKnownDocuments = (): LRUCache<string, DocumentNode> =>
  new LRUCache({ maxSize: 32 * 1024 * 1024, sizeCalculation: memoryOf });

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

const sha256 = (document: string): string => createHash('sha256').update(document).digest('hex');

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

const isApollo = (
  manifest: z.output<typeof apolloFile> | z.output<typeof relayFile>,
): manifest is z.output<typeof apolloFile> => Array.isArray(manifest['operations']);

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

/** The document that administrators of the caller's organization have published under this id, or under its SHA-256. */
export type FindPublished = (id: string) => Promise<PublishedText | undefined>;

/** A published document, and the client of its manifest. */
export interface PublishedText {
  readonly document: string;
  readonly client: string;
}

/** The client that has published the document; a symbol, so that no request can name it. */
export const PUBLISHED_BY = Symbol('published by');
export type FoundParams = GraphQLParams & { readonly [PUBLISHED_BY]?: string };

/** How the client of a request names itself, and what finds a document for it. Few requests need it. */
export interface Asking {
  readonly named: NamedClient;
  readonly findPublished: FindPublished;
}

/**
 * Replaces the id of a persisted document by its text. The same limits, rules and cache then apply as to other documents. The id is
 * `documentId` (GraphQL over HTTP, appendix on persisted documents), with or without the prefix `sha256:`, or
 * `extensions.persistedQuery.sha256Hash` (automatic persisted queries of Apollo).
 * @throws GraphQLError `PERSISTED_DOCUMENT_NOT_FOUND` and `PERSISTED_QUERY_NOT_FOUND` (404); `DOCUMENT_NOT_TRUSTED` (403) for other texts when
 * only trusted documents are allowed; ValidationError (400) for an invalid id, and for a hash that does not match the text.
 */
export type FindDocument = (params: GraphQLParams, asking: () => Asking) => FoundParams | Promise<FoundParams>;

/**
 * Memory for automatic persisted queries of this process. Another process asks the client to send the text again, as
 * the protocol allows.
 */
const AUTOMATIC_BYTES = 16 * 1024 * 1024;

export function createDocuments(trusted: TrustedDocuments, mode: 'also' | 'only'): FindDocument {
  const texts = new Set(trusted.values());
  const automatic = new LRUCache<string, string>({
    maxSize: AUTOMATIC_BYTES,
    sizeCalculation: (document) => 2 * document.length + 200,
  });

  function register(query: string, hash: string): void {
    if (sha256(query) !== hash)
      throw invalid('extensions.persistedQuery.sha256Hash', 'must be the SHA-256 of the query');
    // A longer text will be refused, so it is not stored.
    if (query.length <= LIMITS.queryBytes) automatic.set(hash, query);
  }

  async function published(id: DocumentId, rest: GraphQLParams, asking: () => Asking): Promise<FoundParams> {
    const { named, findPublished } = asking();
    const found = await findPublished(id.name);
    if (found === undefined) throw id.isAutomatic ? notFound() : documentNotFound(id, named);
    return { ...rest, query: found.document, [PUBLISHED_BY]: found.client };
  }

  async function trustedText(query: string, rest: GraphQLParams, asking: () => Asking): Promise<FoundParams> {
    const found = await asking().findPublished(sha256(query));
    if (found?.document !== query) throw notTrusted();
    return { ...rest, [PUBLISHED_BY]: found.client };
  }

  return (params, asking) => {
    const { id, rest } = takeId(params);
    const query: unknown = rest.query;
    if (typeof query === 'string' && query !== '') {
      if (mode === 'only' && !texts.has(query)) return trustedText(query, rest, asking);
      if (id?.isHash) register(query, id.name);
      return rest;
    }
    if (id === undefined) return rest;
    const found = trusted.get(id.name) ?? (mode === 'also' && id.isHash ? automatic.get(id.name) : undefined);
    return found === undefined ? published(id, rest, asking) : { ...rest, query: found };
  };
}

interface DocumentId {
  readonly name: string;
  readonly isHash: boolean;
  /** Whether its client sends the text if the hash is unknown. */
  readonly isAutomatic: boolean;
}

/** The id of the document in a request, and the request without the id. */
function takeId(params: GraphQLParams & { documentId?: unknown }): { id?: DocumentId; rest: GraphQLParams } {
  if (!('documentId' in params) && !params.extensions?.['persistedQuery']) return { rest: params };
  const { documentId, extensions, ...rest } = params;
  const { persistedQuery, ...others }: Record<string, unknown> = Object(extensions);
  const named = {
    id: persistedQuery === undefined ? idOf(documentId) : hashOf(persistedQuery),
    rest: { ...rest, ...(Object.keys(others).length > 0 && { extensions: others }) },
  };
  return named;
}

function idOf(documentId: unknown): DocumentId {
  if (typeof documentId !== 'string' || documentId === '' || documentId.length > MAX_ID_LENGTH)
    throw invalid('documentId', `must be a string of 1 to ${MAX_ID_LENGTH} characters`);
  const hash = /^sha256:([0-9a-f]{64})$/.exec(documentId)?.[1];
  return { name: hash ?? documentId, isHash: hash !== undefined, isAutomatic: false };
}

const MAX_ID_LENGTH = 255;

function hashOf(persistedQuery: unknown): DocumentId {
  const { version, sha256Hash }: { version?: unknown; sha256Hash?: unknown } = Object(persistedQuery);
  if (version !== 1) throw invalid('extensions.persistedQuery.version', 'must be 1');
  if (typeof sha256Hash !== 'string' || !/^[0-9a-f]{64}$/.test(sha256Hash))
    throw invalid('extensions.persistedQuery.sha256Hash', 'must be a SHA-256 in lower-case hexadecimal');
  return { name: sha256Hash, isHash: true, isAutomatic: true };
}

/** Clients recognize this message and send the text again. */
const notFound = (): GraphQLError =>
  new GraphQLError('PersistedQueryNotFound', {
    extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', http: { spec: true, status: 404 } },
  });

const MAX_SHOWN = 100;

function documentNotFound({ name }: DocumentId, { client, version }: NamedClient): GraphQLError {
  const [shown, ...of] = [name, client, version].map((given) => given?.slice(0, MAX_SHOWN));
  const named = of.some((given) => given !== undefined)
    ? `for the client ${of[0] ?? '(not named)'}, version ${of[1] ?? '(not named)'}`
    : 'for any client; the request names none (headers GraphQL-Client-Name and GraphQL-Client-Version)';
  return new GraphQLError(
    `No document with the id ${shown} is published ${named}. Administrators publish documents with POST /v1/operation-manifests.`,
    {
      extensions: {
        code: 'PERSISTED_DOCUMENT_NOT_FOUND',
        client: of[0] ?? null,
        version: of[1] ?? null,
        http: { spec: true, status: 404 },
      },
    },
  );
}

const notTrusted = (): GraphQLError =>
  new GraphQLError('Only trusted and published documents are allowed; send the documentId of one.', {
    extensions: { code: 'DOCUMENT_NOT_TRUSTED', http: { status: 403 } },
  });
