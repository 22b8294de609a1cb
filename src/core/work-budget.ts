import { setImmediate } from 'node:timers/promises';

/**
 * What the input of one caller may become, so that it does not stop another caller. The bytes of a body are bounded where it is read
 * (`http/request-body.ts`). `docs/limits.md` describes each of these bounds.
 */
export const WORK = {
  /** Properties of an object whose properties a schema names. */
  properties: 500,
  /** Characters of the name of such a property, and of an enum value, in an input of GraphQL. */
  nameCharacters: 1_000,
  /** Properties of an object of free JSON. */
  freeProperties: 50_000,
  /** Events of a session whose texts one request redacts. */
  redactedEvents: 100_000,
  /** Messages in parts in which a redaction follows a text from one part to the next. */
  partedTexts: 1_000,
  /** Rows of a page of an exported file, and of its events, with their bytes. One page is in memory. */
  exportedRows: 100,
  exportedEvents: 1_000,
  exportedBytes: 256 * 1024,
  /** Registered e-mail addresses and tokens of a contact whose occurrences one request deletes. */
  erasedIdentifiers: 1_000,
  /** Items of a list whose items a schema describes, if it has no other bound. */
  items: 10_000,
  /** Properties and items of a body in all its objects and lists. */
  members: 400_000,
  /** Nested objects and lists of a JSON document, which is the first level. */
  levels: 500,
  /** Faults of an input that are reported. The others are counted. */
  faults: 20,
  /** Bytes of the body of an operation without a key. */
  keylessBytes: 8 * 1024,
  /** Milliseconds that a computation takes before it lets other requests run. */
  sliceMs: 10,
  /** Milliseconds that a transaction of many should take, while others can wait for its locks. */
  batchMs: 30,
  /** Sign-ins of a process that wait for the identity provider. */
  oidcAttempts: 200,
  /** Lines of an agent in one request, and events that they become. */
  lines: 10_000,
  lineEvents: 10_000,
  /** Properties and items of a line that is read. A line with more is kept as a text. */
  lineMembers: 50_000,
  /** Stored bytes for each byte of a line, and further ones for each of its events. A line that becomes more is kept as a text. */
  storedPerByte: 4,
  storedPerEvent: 256,
  /** Bytes of what a format remembers of the lines of a session. */
  formatMemoryBytes: 1024 * 1024,
  /** After so many bytes in parts, the text so far is stored again. */
  openTextBytes: 32 * 1024,
  /** Models and tools of one append whose usage is summed by name. */
  summedNames: 100,
  /** So many sums a batch adds to, when its lines are of many days. */
  summedDays: 1_000,
  /** Models, tools and failed tools by whose names a session is found. */
  sessionNames: 200,
  /** Sessions or occurrences that one request counts by day or name. */
  countedRows: 1_000_000,
  /** Sums, entries, and names of tools and of models in a part of the outline of a session. */
  outlineMarks: 100,
  outlineEntries: 200,
  outlineNames: 100,
  /** Pages of a part of a whole outline, events of a page, and the bytes that a page should have; sums and entries of the part. */
  wholeOutlinePages: 10,
  wholeOutlineEvents: 5_000,
  wholeOutlineBytes: 3 * 1024 * 1024,
  wholeOutlineMarks: 500,
  wholeOutlineEntries: 600,
  /** Events of an answer of another server. */
  events: 50_000,
  /** Pages of a list of another server. */
  pages: 100,
  /** Tools of an MCP server. */
  tools: 2_000,
  /** MCP connections whose tools are offered at one address. */
  offeredConnections: 100,
  /** Bytes of a message of an MCP client that is read only to refuse it with its id. */
  refusedMessageBytes: 256 * 1024,
  /** MCP servers that one request asks for their tools at the same time. The others wait. */
  toolServers: 10,
  /** Entries of a feed that are looked at for one page. */
  feedEntries: 10_000,
  /** Messages that a webhook gets in a row, before others are served. */
  webhookEntries: 100,
  /** Documents of a published manifest, their bytes, manifests of an organization, and bytes of all of them. */
  manifestOperations: 2_000,
  documentBytes: 65_536,
  manifests: 1_000,
  manifestBytes: 64 * 1024 * 1024,
  /** Bytes that a WebSocket sends before its caller is known, and characters of each later message that is no operation. */
  socketBytes: 16 * 1024,
  /** Characters of the id of an operation of a WebSocket, which each of its results repeats. */
  operationIdCharacters: 1_000,
} as const;

/**
 * Divides a computation into slices of at most 10 ms, between which other requests run:
 * `if (slices.isOver()) await slices.pause()` after each step whose own time is bounded.
 */
export class WorkSlices {
  #end = performance.now() + WORK.sliceMs;

  isOver(): boolean {
    return performance.now() >= this.#end;
  }

  async pause(): Promise<void> {
    await setImmediate();
    this.#end = performance.now() + WORK.sliceMs;
  }
}

/** How much the next of many transactions does, so that it takes about `WORK.batchMs`: what the last one took decides. */
export class BatchSize {
  readonly #max: number;
  readonly #now: () => number;
  #size: number;

  constructor(max: number, now = () => performance.now()) {
    this.#max = max;
    this.#now = now;
    this.#size = Math.ceil(max / 10);
  }

  async measure<Result>(run: (size: number) => Promise<Result>): Promise<Result> {
    const began = this.#now();
    const result = await run(this.#size);
    // Slow ones count at once; a fast one can have found little to do.
    const change = Math.min(2, WORK.batchMs / (this.#now() - began));
    // Where the connection or the machine is slow, small ones would take as long.
    const min = this.#max / 20;
    this.#size = Math.ceil(Math.max(min, Math.min(this.#max, this.#size * change)));
    return result;
  }
}
