import type { FoldMemory } from './entry-fold.ts';

/** Changes what the fold of a session remembers, with its entries. */

/** What is remembered when names are changed. */
export function withNames(memory: string, rename: (name: string) => string): string {
  const { items, agents, ...rest } = JSON.parse(memory) as FoldMemory;
  const renamed = <Name extends string>(name: Name, value: string | undefined) =>
    value !== undefined && { [name]: rename(value) };
  return JSON.stringify({
    ...rest,
    items: items.map((item) => ({ ...item, ...renamed('likeness', item.likeness) })),
    agents: agents.map((agent) => ({ ...agent, ...renamed('model', agent.model) })),
  });
}

/** What is remembered when entries get other ids, or are gone. */
export function withEntries(memory: string, moved: ReadonlyMap<number, number | undefined>): string {
  const { turn, items, agents } = JSON.parse(memory) as FoldMemory;
  const idOfEntry = (id: number) => (moved.has(id) ? moved.get(id) : id);
  const left = items.flatMap((item) => {
    const id = idOfEntry(item.id);
    return id === undefined ? [] : [{ ...item, id }];
  });
  const acting = agents.map(({ lastId, ...agent }) => {
    const id = lastId === undefined ? undefined : idOfEntry(lastId);
    return { ...agent, ...(id !== undefined && { lastId: id }) };
  });
  return JSON.stringify({ turn, items: left, agents: acting });
}
