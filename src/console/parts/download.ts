import { organization } from './address.ts';

/** Files over REST, with the sign-in of the browser. */

export interface Progress {
  readonly bytes: number;
  readonly lines: number;
}

export interface FileAddress {
  readonly path: string;
  /** Its format, if the address has several, or answers a page without it. */
  readonly format?: 'csv' | 'ndjson';
}

/** With the organization of this tab and the format in the query, because a link cannot send headers. */
export function addressOf({ path, format }: FileAddress): string {
  const address = new URL(path, location.origin);
  const inTab = organization.get();
  if (inTab !== null) address.searchParams.set('organization', inTab);
  if (format) address.searchParams.set('format', format);
  return address.href;
}

interface Options extends FileAddress {
  readonly name: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Whether the last line shows that the file is complete. Without it, only the connection does. */
  readonly isLast?: (line: string) => boolean;
}

/** Whether a line is the last one of an export of several kinds of objects. */
export const isEndLine = (line: string): boolean => line.startsWith('{"kind":"end"');

const INCOMPLETE = 'The file is not complete: the connection was cut. Nothing was saved. Try again.';

/** Saves a file when it is complete, which needs neither a dialog nor a secure context. @returns the error, if any; `''` if it was canceled */
export async function download(options: Options): Promise<string | undefined> {
  const { name, signal, onProgress, isLast } = options;
  try {
    // The header proves that a page of the gateway asks, where the browser says nothing about it.
    const headers = { 'X-Organization-Id': organization.get() ?? '' };
    const response = await fetch(addressOf(options), { headers, ...(signal && { signal }) });
    if (!response.ok || !response.body) return await messageOf(response);
    const content = response.body.pipeThrough(counting(onProgress, isLast));
    saveAs(await new Response(content).blob(), name);
    return undefined;
  } catch {
    return signal?.aborted ? '' : INCOMPLETE;
  }
}

async function messageOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => ({}))) as { readonly error?: string };
  return body.error ?? `The gateway answered ${response.status}.`;
}

const NEWLINE = 10;
/** Longer than a last line. */
const TAIL = 4096;
const PROGRESS_MS = 250;

/** Counts what passes, and fails at the end if that is not the whole file. */
function counting(
  onProgress: Options['onProgress'],
  isLast: Options['isLast'],
): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  let [bytes, lines, shownAt] = [0, 0, 0];
  let tail = '';
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      for (const byte of chunk) if (byte === NEWLINE) lines += 1;
      tail = (tail + decoder.decode(chunk, { stream: true })).slice(-TAIL);
      if (Date.now() > shownAt + PROGRESS_MS) {
        shownAt = Date.now();
        onProgress?.({ bytes, lines });
      }
      controller.enqueue(new Uint8Array(chunk));
    },
    flush(controller) {
      onProgress?.({ bytes, lines });
      if (isLast && !(tail.endsWith('\n') && isLast(tail.trimEnd().split('\n').at(-1) ?? '')))
        controller.error(new Error('incomplete'));
    },
  });
}

function saveAs(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
