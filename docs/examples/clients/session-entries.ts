import type { SessionEntriesSubscription } from './generated/operations.ts';

type Batch = SessionEntriesSubscription['sessionEntries'];
export type Entry = Batch['entries'][number];

/** Keeps the entries of a session in their order: entries that have changed come again, and some are removed. */
export function createEntryList() {
  const entries = new Map<string, Entry>();
  return (batch: Batch): Entry[] => {
    for (const id of batch.removedIds) entries.delete(id);
    for (const entry of batch.entries) entries.set(entry.id, entry);
    return [...entries.values()].toSorted((one, other) => Number(one.databaseId) - Number(other.databaseId));
  };
}

/** An entry in one line, such as `2 ToolCall: npm test`. Entries of subagents are indented. */
export function lineOf(entry: Entry): string {
  const text = entry.__typename === 'ToolCall' ? `${entry.toolName} ${entry.input}` : entry.text;
  const state = entry.isFailed ? ' (failed)' : entry.isOpen ? ' …' : '';
  return `${entry.subagent ? '  ' : ''}${entry.turn} ${entry.__typename}: ${text}${state}`;
}
