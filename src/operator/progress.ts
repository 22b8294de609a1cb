/** Where progress is shown; `isTTY`: it is a terminal, where a line can be drawn again. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const LINE_MS = 5_000;

/**
 * Shows how far something has come: a bar on a terminal, drawn at most ten times a second; elsewhere a line every 5 s, so that logs stay
 * short. `total` 0 counts as done; without one, how much there is, is not known, and only the note is shown.
 */
export function createProgress(
  stream: ProgressStream,
  total: number | undefined,
  now: () => number = () => performance.now(),
) {
  let shown = now() - REDRAW_MS;
  const lineOf = (done: number, note: string) => {
    if (total === undefined) return stream.isTTY ? `\r${note}` : `${note}\n`;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    if (!stream.isTTY) return `${percent.trim()}  ${note}\n`;
    return `\r[${'#'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '.')}] ${percent}  ${note}`;
  };
  return {
    update(done: number, note: string): void {
      if (now() - shown < (stream.isTTY ? REDRAW_MS : LINE_MS)) return;
      shown = now();
      stream.write(lineOf(done, note));
    },
    /** Draws the last state and leaves the line. */
    end(done: number, note: string): void {
      stream.write(stream.isTTY ? `${lineOf(done, note)}\n` : lineOf(done, note));
    },
  };
}
