declare module 'pg/lib/utils.js' {
  /** How the driver writes the values of a statement. */
  export function prepareValue(value: unknown): string | Buffer | null;
}

declare module 'pg-protocol/dist/parser.js' {
  export interface Message {
    readonly name: string;
    readonly length: number;
  }

  /** How the driver reads the messages of PostgreSQL. */
  export class Parser {
    /** Calls back for each message that is complete with these bytes. */
    parse(bytes: Buffer, callback: (message: Message) => void): void;
    /** Reads one message, whose content begins at `offset`; `length` includes the four bytes of the length itself. */
    protected handlePacket(offset: number, code: number, length: number, bytes: Buffer): Message;
  }
}
