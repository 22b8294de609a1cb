import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { start, temporaryDirectory } from './process.ts';
import { scriptNamed } from '../../../src/gateway/pages/scripts.ts';

/** The recorder, and what it has recorded. */

/** The file that the gateway serves. */
export const RECORDER = join(mkdtempSync(join(tmpdir(), 'recorder-')), 'record.mjs');
writeFileSync(RECORDER, scriptNamed('record'));

/** The Node.js of the machine, with which people run the recorder: often an older one than that of the tests. */
const MACHINE_NODE = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((file) => existsSync(file));

/** The command that runs the recorder. */
export const RECORD = [MACHINE_NODE ?? process.execPath, RECORDER] as const;

/** The id of the session that the recorder has named. */
export function sessionOf(stderr: string): string {
  const id = /\/sessions\/([0-9a-f-]{36})/.exec(stderr)?.[1];
  if (id === undefined) throw new Error(`no session in ${JSON.stringify(stderr)}`);
  return id;
}

interface RecordedData {
  readonly providerEvent?: boolean;
  readonly event?: { readonly message: string };
  readonly line?: { readonly event: number; readonly parts?: number; readonly encoding?: 'base64' };
}

interface RestApi {
  rest<Body>(method: string, path: string, options: { key: string }): Promise<{ body: Body }>;
}

/** The REST API of a gateway in another process. */
export function restApi(url: string): RestApi {
  return {
    async rest<Body>(method: string, path: string, { key }: { key: string }) {
      const response = await fetch(`${url}${path}`, { method, headers: { Authorization: `Bearer ${key}` } });
      return { body: (await response.json()) as Body };
    },
  };
}

/** The recorded lines, put together from their events. */
export async function linesOf(gateway: RestApi, key: string, sessionId: string): Promise<string[]> {
  const lines: { text: string; encoding: BufferEncoding }[] = [];
  for (let cursor = '0'; ;) {
    const path = `/v1/sessions/${sessionId}/events?limit=1000&cursor=${cursor}`;
    const { body } = await gateway.rest<{ items: { eventData: RecordedData }[]; nextCursor: string }>('GET', path, {
      key,
    });
    if (body.items.length === 0) return lines.map(({ text, encoding }) => Buffer.from(text, encoding).toString());
    for (const { eventData } of body.items) {
      const { event = 1, parts = 1, encoding = 'utf8' } = eventData.line ?? {};
      if (event > parts || eventData.providerEvent !== true) continue;
      const text = eventData.event?.message ?? '';
      if (event === 1) lines.push({ text, encoding });
      else lines.push({ text: `${lines.pop()?.text}${text}`, encoding });
    }
    cursor = body.nextCursor;
  }
}

/** Starts a recorder with a spool folder of its own. */
export async function startRecorder(
  url: string,
  key: string,
  args: readonly string[],
  env: Record<string, string> = {},
) {
  const spool = await temporaryDirectory();
  const recorder = start([...RECORD, '--spool', spool, ...args], {
    GATEWAY: `${url}/`,
    KEY: key,
    // Without the logins of the person who runs the tests.
    XDG_CONFIG_HOME: '/nowhere',
    ...env,
  });
  return { ...recorder, spool };
}

/** A recorded session and its lines. */
export async function recordedSession(gateway: RestApi, key: string, id: string) {
  const path = `/v1/sessions/${id}`;
  const { body } = await gateway.rest<{ title: string; state: { current: string }; agent: string }>('GET', path, {
    key,
  });
  const { title, state, agent } = body;
  return { title, agent, state: state.current, lines: await linesOf(gateway, key, id) };
}
