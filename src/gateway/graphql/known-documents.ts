import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import { memoryOf } from '../../graphql-executor/document-size.ts';

/** Cache of valid documents by their text. Its memory is bounded, because clients choose the documents. */
export function createKnownDocuments(): LRUCache<string, DocumentNode> {
  return new LRUCache({ maxSize: 32 * 1024 * 1024, sizeCalculation: memoryOf });
}
