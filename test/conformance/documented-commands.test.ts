import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeBlocks } from '../support/documents.ts';
import { AGENT_LINES } from '../support/fixtures/agent-lines.ts';
import { processesOf } from '../support/processes/embedded-postgres.ts';
import { call, endProcesses, start, temporaryDirectory, whenReady } from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';

/** Runs what a newcomer copies from the documents, with Node.js 20 first in the path. Only addresses, the printed key and ids are replaced. */

/** The npm package `node` of this folder is version 20. */
const PATH = [join(import.meta.dirname, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter);
/** Commands that are not run here, and why. */
const ELSEWHERE: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^npm (?:ci|install)|^npx openapi-typescript/, 'install packages, as the gate does'],
  [
    /^npm run (?:bench|check)|^OLD=|^node_modules\/\.bin\/node test\/bench\//,
    'take minutes; the gate runs the shortest',
  ],
  [/--inspect-brk/, 'waits for a debugger'],
  [/^node record\.mjs/, 'test/docs/record-a-session.test.ts'],
  [/ plan /, 'test/process/tracking-plan.test.ts'],
  [
    / docs\/examples\/(?:agents|connections|webhooks)\//,
    'test/process/agents.test.ts and use-connections.test.ts, test/docs/webhooks.test.ts',
  ],
  [/ cli -- login /, 'needs a browser: test/process/recorder-login.test.ts'],
  [/ identities unlink /, 'needs a company sign-in: test/process/command-line.test.ts'],
  [/ database copy /, 'needs another database: test/process/database-copy.test.ts'],
];

/** A folder with the files of the repository, in which commands may create others. */
let cwd: string;
let DATA_DIR: string;
beforeAll(async () => {
  cwd = await temporaryDirectory();
  DATA_DIR = await temporaryDirectory();
  const files = execFileSync('git', ['ls-tree', '--name-only', 'HEAD'], { cwd: checkout, encoding: 'utf8' });
  for (const name of [...files.trim().split('\n'), 'node_modules'])
    await symlink(join(checkout, name), join(cwd, name));
});
afterAll(endProcesses);

const shell = (script: string) => start(['bash', '-c', script], { PATH, DATA_DIR, PORT: '0' }, { cwd });

/** Starts a gateway with a documented command. */
async function serve(command: string) {
  const gateway = await whenReady(shell(command));
  const stop = async () => {
    await gateway.end('SIGTERM');
    await expect.poll(() => processesOf(DATA_DIR)).toEqual([]);
  };
  return { ...gateway, stop };
}

/** The commands of all pages that run `node`, `npm` or a file of the repository, without their comments. */
async function commands(): Promise<string[]> {
  const pages = globSync(['*.md', 'docs/**/*.md', 'test/bench/*.md'], { cwd: checkout });
  const blocks = await Promise.all(pages.toSorted().map((page) => codeBlocks(page, '', 'sh')));
  const lines = blocks.flat().flatMap((block) => block.split('\n'));
  return [...new Set(lines.map((line) => line.replace(/\s+#.*/, '').trim()))].filter((line) =>
    /^(?:[A-Z_]+=\S+ )*(?:npm|npx|node|node_modules\/|bin\/)\S* /.test(line),
  );
}

test('the blocks of the first minutes in their order, and then each command of the other pages', async () => {
  const { url, key, stop } = await serve('npm start');
  const blocks = await codeBlocks('docs/first-minutes.md', '', 'sh');
  const local = (text: string) => text.replaceAll('http://127.0.0.1:4000', url).replace('wgk_…', key);
  // Following ends only with the session, so for it each request has a time.
  const script = [
    'curl() { command curl --max-time 10 --fail-with-body "$@"; }',
    ...blocks.flatMap((block) => [local(block), String.raw`printf '\nended: %s\n' $?`]),
  ];
  const first = shell(script.join('\n'));
  first.child.stdin.end();
  await first.exited;
  // 28 of curl: the session goes on.
  expect([first.output.stdout.match(/^ended: \d+$/gm), /"memberCount":\d+/.exec(first.output.stdout)?.[0]]).toEqual([
    ['ended: 0', 'ended: 28', 'ended: 0', 'ended: 0', 'ended: 0', 'ended: 0'],
    '"memberCount":4',
  ]);

  const made = async (path: string, body: object) =>
    ((await call(url, key, 'POST', path, body)).body as { id: string }).id;
  const starts: string[] = [];
  const failed: string[][] = [];
  const all = await commands();
  // Node.js 20 does not read TypeScript.
  expect(all.filter((command) => /^node \S+\.ts/.test(command))).toEqual([]);
  for (const command of all) {
    if (ELSEWHERE.some(([pattern]) => pattern.test(command)) || blocks.join('').includes(command)) continue;
    if (command.endsWith('npm start')) {
      starts.push(command);
      continue;
    }
    if (command.includes('--format codex'))
      await writeFile(join(cwd, 'run.ndjson'), AGENT_LINES.codex.map((line) => `${line}\n`).join(''));
    const { child, exited, output } = shell(
      command
        .replace('KEY_ID', await made('/v1/api-keys', { name: 'Documented', scopes: ['sessions.read'] }))
        .replace('SESSION_ID', await made('/v1/sessions', { title: 'Documented' }))
        .replace('you@example.com', 'demo@example.com'),
    );
    child.stdin.end();
    if ((await exited) !== 0) failed.push([command, output.stderr]);
  }
  expect(failed).toEqual([]);
  await stop();
  for (const command of starts) {
    const again = await serve(command);
    expect([command, again.url]).toEqual([command, expect.stringMatching(/^http:/)]);
    await again.stop();
  }
  expect(starts).toContain('LOG_LEVEL=debug npm start');
});
