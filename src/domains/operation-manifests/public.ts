// What the gateway uses of operation manifests.

export { type NamedClient, findPublishedDocument } from './published-documents.ts';
