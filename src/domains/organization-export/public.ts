// What the gateway and the operator use of the export of organizations.

export { beginExport } from './operations.ts';
export { provideExports } from './rows.ts';
