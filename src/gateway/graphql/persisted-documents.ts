import { GraphQLError } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { invalid } from '../../core/errors.ts';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import { type TrustedDocuments, sha256 } from './trusted-documents.ts';

/**
 * Replaces the id of a persisted document by its text. The same limits, rules and cache then apply as to other documents. The id is
 * `documentId` (GraphQL over HTTP, appendix on persisted documents), with or without the prefix `sha256:`, or
 * `extensions.persistedQuery.sha256Hash` (automatic persisted queries of Apollo).
 * @throws GraphQLError `PERSISTED_QUERY_NOT_FOUND` (404); `DOCUMENT_NOT_TRUSTED` (403) for other texts when only
 * trusted documents are allowed; ValidationError (400) for an invalid id, and for a hash that does not match the text.
 */
export type FindDocument = (params: GraphQLParams) => GraphQLParams;

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

  return (params) => {
    const { id, rest } = takeId(params);
    const query: unknown = rest.query;
    if (typeof query === 'string' && query !== '') {
      if (mode === 'only' && !texts.has(query)) throw notTrusted();
      if (id?.isHash) register(query, id.name);
      return rest;
    }
    if (id === undefined) return rest;
    const found = trusted.get(id.name) ?? (mode === 'also' && id.isHash ? automatic.get(id.name) : undefined);
    if (found === undefined) throw notFound();
    return { ...rest, query: found };
  };
}

interface DocumentId {
  readonly name: string;
  readonly isHash: boolean;
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
  return { name: hash ?? documentId, isHash: hash !== undefined };
}

const MAX_ID_LENGTH = 255;

function hashOf(persistedQuery: unknown): DocumentId {
  const { version, sha256Hash }: { version?: unknown; sha256Hash?: unknown } = Object(persistedQuery);
  if (version !== 1) throw invalid('extensions.persistedQuery.version', 'must be 1');
  if (typeof sha256Hash !== 'string' || !/^[0-9a-f]{64}$/.test(sha256Hash))
    throw invalid('extensions.persistedQuery.sha256Hash', 'must be a SHA-256 in lower-case hexadecimal');
  return { name: sha256Hash, isHash: true };
}

/** Clients recognize this message and send the text again. */
function notFound(): GraphQLError {
  return new GraphQLError('PersistedQueryNotFound', {
    extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', http: { spec: true, status: 404 } },
  });
}

function notTrusted(): GraphQLError {
  return new GraphQLError('Only trusted documents of the operator are allowed; send the documentId of one.', {
    extensions: { code: 'DOCUMENT_NOT_TRUSTED', http: { status: 403 } },
  });
}
