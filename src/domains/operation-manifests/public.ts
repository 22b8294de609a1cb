// What the gateway uses of operation manifests.

export { type CheckDocument, provideDocumentCheck } from './document-check.ts';
export { type NamedClient, findPublishedDocument } from './published-documents.ts';
