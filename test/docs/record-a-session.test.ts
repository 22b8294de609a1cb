import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type FormatName } from '../../src/domains/session-events/formats/names.ts';
import { codeBlocks } from '../support/documents.ts';
import { AGENT_LINES } from '../support/fixtures/agent-lines.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { NODE_ENVIRONMENT } from '../support/processes/programs.ts';
import { linesOf } from '../support/processes/recorder.ts';

/** Runs the commands of docs/record-a-session.md from top to bottom, with agents that print the lines of their format. */

let gateway: ServedGateway;
let owner: Awaited<ReturnType<ServedGateway['createKey']>>;
let runner: string;
beforeAll(async () => {
  gateway = await startServedGateway();
  owner = await gateway.createKey();
  const { email, organization } = owner;
  runner = (await gateway.createKey({ email, organization, scopes: ['sessions.record'] })).key;
});
afterAll(() => gateway.close());
afterEach(endProcesses);

/** The programs, and the formats of what they write. */
const AGENTS = {
  claude: 'claude',
  codex: 'codex',
  gemini: 'gemini',
  opencode: 'opencode',
  copilot: 'copilot',
  cline: 'cline',
  pi: 'pi',
  qwen: 'claude',
} as const satisfies Readonly<Record<string, FormatName>>;

/** A folder with programs that are named like the agents. */
async function agents(): Promise<string> {
  const folder = join(await temporaryDirectory(), 'bin');
  await mkdir(folder);
  for (const [name, format] of Object.entries(AGENTS)) {
    await writeFile(join(folder, `${name}.ndjson`), AGENT_LINES[format].map((line) => `${line}\n`).join(''));
    await writeFile(join(folder, name), `#!/bin/sh\nexec cat ${join(folder, `${name}.ndjson`)}\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

test('the commands of the page record each agent, with a key that can do nothing else', async () => {
  const script = (await codeBlocks('docs/record-a-session.md', 'sh'))
    .join('\n')
    .replace('GATEWAY=http://127.0.0.1:4000 KEY=wgk_…', `GATEWAY=${gateway.url} KEY=${runner}`);
  expect(script).toContain(runner);
  const cwd = await temporaryDirectory();
  const PATH = [await agents(), NODE_ENVIRONMENT['PATH']].join(delimiter);
  const { output, exited, child } = start(['sh', '-euc', script], { PATH, HOME: cwd }, { cwd });
  child.stdin.end();
  expect([await exited, output.stderr.replaceAll(/^record: http\S+\n/gm, '')]).toEqual([0, '']);
  expect(await readdir(join(cwd, '.workspace-recorder'))).toEqual([]);

  const { body } = await gateway.rest<{ items: { id: string; title: string; state: { current: string } }[] }>(
    'GET',
    '/v1/sessions?sortOrder=ASC',
    { key: owner.key },
  );
  const found = await Promise.all(
    body.items.map(async ({ id, title, state }) => ({
      title,
      state: state.current,
      lines: await linesOf(gateway, owner.key, id),
    })),
  );
  const of = (title: string, format: FormatName, times = 1) => ({
    title,
    state: 'completed',
    lines: Array.from({ length: times }, () => AGENT_LINES[format]).flat(),
  });
  expect(found.slice(0, -1)).toEqual([
    // The pipe has the same session of the agent.
    ...Object.entries(AGENTS).map(([name, format]) =>
      of(`${name}: Fix the flaky test`, format, name === 'claude' ? 2 : 1),
    ),
    of('Flaky test', 'codex'),
  ]);
  expect(found.at(-1)).toMatchObject({ title: 'My runner', state: 'queued' });
});
