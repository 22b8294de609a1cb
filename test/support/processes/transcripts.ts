import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import { join } from 'node:path';
import { start } from './process.ts';
import { RECORD } from './recorder.ts';

/** The transcripts of a person, and the recorder that sends them. */

export interface Account {
  readonly home: string;
  readonly url: string;
  readonly key: string;
}

export const asText = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Starts the recorder with the home folder of the person. */
export function startRecord({ home, url, key }: Account, ...args: readonly string[]) {
  const env = { GATEWAY: url, KEY: key, HOME: home, CLAUDE_CONFIG_DIR: '', CODEX_HOME: '', XDG_DATA_HOME: '' };
  const started = start([...RECORD, ...args], env);
  started.child.stdin.end();
  return started;
}

/** Lines of a transcript of Claude Code, each with an id. */
export const saidLines = (name: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => ({
    type: 'user',
    uuid: `${name}-${from + index}`,
    message: { role: 'user', content: `${name} ${from + index}` },
  }));

export async function writeTranscript(home: string, id: string, values: readonly object[], isAdded = false) {
  const folder = join(home, '.claude', 'projects', 'p');
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${id}.jsonl`);
  await (isAdded ? appendFile : writeFile)(file, asText(values));
  return file;
}

/** What happens to a request before, or to its answer after the gateway has answered. False keeps the answer back for good. */
type Step = (request: { readonly method: string; readonly path: string }) => Promise<boolean | number>;

/** An HTTP server between the recorder and the gateway. */
export async function startRelay(target: string, before: Step, after: Step) {
  const server: Server = createServer((request, response) => {
    const asked = { method: request.method ?? '', path: request.url ?? '' };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void relay());
    async function relay() {
      const status = await before(asked);
      if (typeof status === 'number') response.writeHead(status).end('{"error":"refused by the test"}');
      else if (status) await forward();
    }
    async function forward() {
      const headers = Object.fromEntries(
        ['authorization', 'content-type', 'idempotency-key'].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === 'string' ? [[name, value]] : [];
        }),
      );
      const answer = await fetch(`${target}${asked.path}`, {
        method: asked.method,
        headers,
        ...(chunks.length > 0 && { body: new Uint8Array(Buffer.concat(chunks)) }),
      });
      const text = await answer.text();
      if (await after(asked)) response.writeHead(answer.status).end(text);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
