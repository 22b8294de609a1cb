import { type DocumentNode, visit } from 'graphql';

const BYTES_A_TOKEN = 470;
const BYTES_A_COMMENT = 100;

/** The number of tokens of a document; for one that was not parsed from text, of its nodes. */
export function tokensOf(document: DocumentNode): number {
  if (document.tokenCount !== undefined) return document.tokenCount;
  let nodes = 0;
  visit(document, { enter: () => void (nodes += 1) });
  return nodes;
}

/** The maximum memory of a parsed document with its text, in bytes. */
export function memoryOf(document: DocumentNode): number {
  const text = document.loc?.source.body ?? '';
  return BYTES_A_TOKEN * tokensOf(document) + BYTES_A_COMMENT * text.split('#').length + 2 * text.length + 1000;
}
