/** The output of progress; `isTTY`: a terminal, where a line can be overwritten. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const LINE_MS = 5_000;

/**
 * Shows progress: in a terminal as a bar, at most ten times a second; elsewhere as a line every 5 s, so that logs stay
 * short. A `total` of 0 counts as done; without `total` only the note is shown.
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
    /** Draws the final state and ends the line. */
    end(done: number, note: string): void {
      stream.write(stream.isTTY ? `${lineOf(done, note)}\n` : lineOf(done, note));
    },
  };
}
