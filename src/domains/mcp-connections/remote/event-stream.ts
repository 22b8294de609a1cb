import { isObject } from '../../../core/is-object.ts';
import { parsedJson } from '../../../core/outbound/changed-answers.ts';

const DATA = /^data: ?/;

/**
 * Changes the JSON messages of a stream of server-sent events while it is read. A message that spans several lines of data, which no known
 * server writes, is left as it is.
 */
export function changedEvents(change: (message: unknown) => unknown): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = '';
  const changedLine = (line: string): string => {
    if (!DATA.test(line)) return line;
    const document = parsedJson(line.replace(DATA, ''));
    if (!isObject(document) && !Array.isArray(document)) return line;
    // The package reads one message in an event.
    const messages: readonly unknown[] = Array.isArray(document) ? document : [document];
    return messages.map((message) => `data: ${JSON.stringify(change(message))}`).join('\n\n');
  };
  return new TransformStream({
    transform(chunk, controller) {
      const text = decoder.decode(chunk, { stream: true });
      // A long line is not searched again for each of its parts.
      if (!text.includes('\n')) {
        rest += text;
        return;
      }
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      controller.enqueue(encoder.encode(lines.map((line) => `${changedLine(line)}\n`).join('')));
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(encoder.encode(changedLine(rest)));
    },
  });
}
