import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { codeBlocks } from '../support/documents.ts';
import { freePort } from '../support/processes/ports.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { GATEWAY, NODE_ENVIRONMENT, checkout } from '../support/processes/programs.ts';

/** Runs all commands of docs/mcp.md, in the order of the page, and compares what they print with it. */

afterAll(endProcesses);

/** Stands for Claude Code: `mcp add` connects like the official client, and prints the tools. */
const CLAUDE = `#!/usr/bin/env node
import { Client, StreamableHTTPClientTransport } from '${import.meta.resolve('@modelcontextprotocol/client')}';
const [mcp, add, transport, http, name, url, header, value] = process.argv.slice(2);
const headers = Object.fromEntries([value.split(': ')]);
const client = new Client({ name: 'claude', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const { tools } = await client.listTools();
console.log([mcp, add, transport, http, name, header, ...tools.map((tool) => tool.name)].join(' '));
await client.close();
`;

test('the commands lead from an empty workspace to agents that use two servers, and print what the page says', async () => {
  const page = await readFile(join(checkout, 'docs/mcp.md'), 'utf8');
  const [startGateway = '', startServers = '', ...commands] = await codeBlocks('docs/mcp.md', 'sh');
  const [ISSUES_PORT, WIKI_PORT] = [String(await freePort()), String(await freePort())];
  const env = { DATA_DIR: join(await temporaryDirectory(), 'data'), PORT: '0' };

  const gateway = start(['sh', '-c', startGateway.replace('npm start', `exec ${GATEWAY} start`)], env);
  await expect.poll(() => gateway.output.stdout, { interval: 50 }).toMatch(/\n {4}curl .*\n/);
  const [, url = ''] = /GraphiQL +(http\S+)\/graphql/.exec(gateway.output.stdout) ?? [];
  const [key = ''] = /wgk_\w+/.exec(gateway.output.stdout) ?? [];
  const servers = start(['sh', '-c', `exec ${startServers}`], { ISSUES_PORT, WIKI_PORT });
  await expect.poll(() => servers.output.stdout, { interval: 50 }).toContain('wiki: http');

  const bin = join(await temporaryDirectory(), 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'claude'), CLAUDE);
  await writeFile(join(bin, 'package.json'), '{"type": "module"}');
  await chmod(join(bin, 'claude'), 0o755);
  const script = commands
    .join(String.raw`printf '\n---\n'`.concat('\n'))
    .replace('GATEWAY=http://127.0.0.1:4000 ADMIN_KEY=wgk_…', `GATEWAY=${url} ADMIN_KEY=${key}`)
    .replace('127.0.0.1:4101', `127.0.0.1:${ISSUES_PORT}`)
    .replace('127.0.0.1:4102', `127.0.0.1:${WIKI_PORT}`);
  expect(script).toContain(key);
  const run = start(['sh', '-euc', script], { PATH: [bin, NODE_ENVIRONMENT['PATH']].join(delimiter) });
  run.child.stdin.end();
  expect([await run.exited, run.output.stderr]).toEqual([0, '']);

  const [, ofAgent = ''] = /^```\n(issues__search.*?)^```$/ms.exec(page) ?? [];
  const [stored, ofPerson, ofRunner, ofCall = '', ofAll = '', ofSession = '', ofRules = '', ...more] =
    run.output.stdout.split('\n---\n');
  expect([stored, ofPerson, ofRunner, more]).toEqual([
    '',
    'mcp add --transport http issues --header search remove_all\nmcp add --transport http wiki --header search remove_all\n',
    ofAgent,
    [],
  ]);
  // A stream, where a notification about the connection of the demo workspace that waits for an authorization comes first.
  const document = (text: string): unknown =>
    JSON.parse(
      text
        .split('\n')
        .findLast((line) => line.startsWith('data: '))
        ?.slice('data: '.length) ?? text,
    );
  expect(document(ofCall)).toMatchObject({
    isError: false,
    content: [{ type: 'text', text: '#2 The footer is cut' }],
  });
  const tools = ['issues__search', 'issues__remove_all', 'wiki__search', 'wiki__remove_all'].map((name) => ({ name }));
  for (const list of [ofAll, ofSession]) expect(document(list)).toMatchObject({ result: { tools } });
  expect(document(ofRules)).toMatchObject({
    toolRules: [
      { tools: ['search', 'read_*'], effect: 'ALLOW' },
      { tools: ['*'], effect: 'ASK' },
    ],
  });
});
