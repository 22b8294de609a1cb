/** What the fold of a session remembers, and its changes with the entries. */

/** A text or a call that later events may continue. */
export interface Item {
  readonly key: string;
  readonly id: number;
  readonly turn: number;
  isOpen: boolean;
  /** Whether it is a message of the agent: later events of it can be something else. */
  readonly isMessage?: boolean;
  /** Set when the session has ended since: it is not open again. */
  isDone?: true;
  /** Of the text so far: its length and a hash. */
  length: number;
  hash: number;
  /** Of an item without an id: what continues it has the same. */
  readonly likeness?: string;
  /** Of a call of a subagent: the key of this agent. */
  readonly by?: string;
  /** Of a long line that is no JSON: the number of its parts that are to come. */
  partsLeft?: number;
}

/** Who acts: the agent itself, or a subagent. */
export interface Agent {
  readonly key: string;
  turn: number;
  /** The last message, and whether it is final because its turn has ended. */
  lastId?: number;
  lastTurn?: number;
  isEnded?: boolean;
  /** Set when it is final because its phase says so. */
  isAnswer?: boolean;
  lastLength?: number;
  lastHash?: number;
  /** The open text, and when it was last added to. */
  open?: string;
  at?: string;
  /** The item of its last event, if it has no id. */
  unnamed?: string;
  model?: string;
}

export interface FoldMemory {
  turn: number;
  items: Item[];
  agents: Agent[];
}

const NOTHING: FoldMemory = { turn: 0, items: [], agents: [] };
/** In place of the number of superseded events: the entries are made anew. */
export const ANEW = -1;

/** What is remembered before the first event. */
export const NO_MEMORY = JSON.stringify(NOTHING);

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
