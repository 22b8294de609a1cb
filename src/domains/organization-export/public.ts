// What the operator uses of the export of organizations.

export { beginExport } from './operations.ts';
