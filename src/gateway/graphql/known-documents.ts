import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import { memoryOf } from '../../graphql-executor/document-size.ts';

/** Valid documents by their text, bounded by the memory they hold, which one could otherwise fill. */
export function createKnownDocuments(): LRUCache<string, DocumentNode> {
  return new LRUCache({ maxSize: 32 * 1024 * 1024, sizeCalculation: memoryOf });
}
