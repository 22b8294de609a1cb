/** Names that Claude Code keeps for its own servers. */
const RESERVED: ReadonlySet<string> = new Set(['workspace', 'computer-use', 'claude-in-chrome', 'ide']);

/** The name of a connection in the configuration of a client: its handle, unless a client refuses that. */
export const clientNameOf = (handle: string): string => (RESERVED.has(handle) ? `${handle}-server` : handle);
