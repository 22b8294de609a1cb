/** The bounds and pauses of the recorder. */

/** A batch has at most so many lines and bytes, as the gateway takes them. A longer line is sent alone, with its longest texts cut. */
export const MAX_LINES = 10_000;
export const MAX_BYTES = 4 * 1024 * 1024;
/** Longer lines are sent in parts. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;
export const SEND_EVERY_MS = 1000;
/** So often a recorder says that a quiet agent still runs. */
export const ALIVE_MS = 10 * 60_000;
export const REQUEST_TIMEOUT_MS = 30_000;
export const MAX_PAUSE_MS = 15_000;
/** So often the format of lines is looked for before the session is created without it. */
export const MAX_LOOKS = 2;
export const MAX_MEMORY = 16 * 1024 * 1024;
export const MAX_ERROR_BYTES = 4096;
/** How long standard error is read after the agent has ended. */
export const ERROR_WAIT_MS = 1000;
