// What other nouns, the gateway and the operator use of session events.

export type { SessionEventTables } from './entity.ts';
export { appendSessionEventsInput, appendSessionLinesInput } from './input.ts';
export { findOperator, importSessionEvents } from './import.ts';
export { appendSessionEvents, appendSessionLines } from './append-operations.ts';
export { pruneSessionEvents } from './prune.ts';
export { purgeSessions } from './purge.ts';
export { redactedText } from './input.ts';
export { redactIn } from './redaction-operations.ts';
export { memberTable, type TableEntry } from './formats/member-table.ts';
export { FORMAT_NAMES, type FormatName } from './formats/names.ts';
export { countUnindexed, indexSessions } from './search-index.ts';
export { createFolding, foldAppended } from './fold-jobs.ts';
export { ID_CURSORS, cursorId, cursorSchema, idOf, relayCursorId } from './cursor.ts';
