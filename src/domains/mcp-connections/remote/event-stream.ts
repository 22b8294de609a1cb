import { isObject } from '../../../core/is-object.ts';
import { parsedJson } from '../../../core/outbound/changed-answers.ts';

const DATA = /^data: ?/;

/** Changes the JSON messages of a stream of server-sent events while it is read. */
export function changedEvents(change: (message: unknown) => unknown): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = '';
  /** The data of an event, which can span several lines. */
  let data: string[] = [];
  const changedData = (): string => {
    const text = data.join('\n');
    const lines = data.map((line) => `data: ${line}\n`).join('');
    data = [];
    const document = parsedJson(text);
    if (!isObject(document) && !Array.isArray(document)) return lines;
    // The package reads one message in an event.
    const messages: readonly unknown[] = Array.isArray(document) ? document : [document];
    return messages.map((message) => `data: ${JSON.stringify(change(message))}\n`).join('\n');
  };
  const changedLine = (line: string): string => {
    if (!DATA.test(line)) return `${changedData()}${line}\n`;
    data.push(line.replace(DATA, ''));
    return '';
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
      controller.enqueue(encoder.encode(lines.map(changedLine).join('')));
    },
    flush(controller) {
      // Some servers do not end the last event with an empty line.
      controller.enqueue(encoder.encode(`${changedLine(rest)}${changedData()}\n`));
    },
  });
}
