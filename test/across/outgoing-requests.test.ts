import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../src/core/version.ts';
import { AuthorizedConnections } from '../support/fixtures/authorized-connections.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { callWebhooks, deliver, receive } from '../support/fixtures/webhooks.ts';

/** Every request that leaves the gateway names it, and has no header of a browser. */

const connections = new AuthorizedConnections();

/** The request lines with their headers, of undici and of fetch of Node.js, which publish them on the same channel. */
const sent: string[] = [];
const note = (message: unknown) => void sent.push((message as { readonly headers: string }).headers);
beforeAll(() => subscribe('undici:client:sendHeaders', note));
afterAll(() => void unsubscribe('undici:client:sendHeaders', note));

test('discovery, registration, tokens, tests, tool calls and webhooks', async () => {
  const { issuer } = await connections.start();
  const { gateway, key } = connections;
  const id = await connections.connect();
  expect(await connections.use(id)).toBe('TestMcpServerPayload');
  connections.advance(7200);
  expect(await connections.use(id)).toBe('TestMcpServerPayload');
  gateway.setClock(undefined);
  await gateway.rest('POST', `/v1/mcp-connections/${id}/tool-calls`, { key, body: { name: 'add', arguments: {} } });
  await using hook = await receive(gateway, key);
  await createSession(gateway, key);
  await callWebhooks(gateway, key, 'POST', `/${hook.id}/ping`);
  await deliver(gateway);
  expect(hook.receiver.received).toHaveLength(2);
  const paths = new Set(sent.map((head) => /^\w+ ([^ ?]*)/.exec(head)?.[1] ?? ''));
  expect([...paths].toSorted()).toEqual(expect.arrayContaining(['/hook', '/mcp', '/token']));
  expect(issuer.origin).toMatch(/^http/);
  const faults = sent.filter(
    (head) =>
      !head.includes(`\r\nuser-agent: WorkspaceGateway/${VERSION}\r\n`) || /\r\n(?:sec-|accept-language)/i.test(head),
  );
  expect(faults).toEqual([]);
});

test('nothing but src/core/outbound sends requests to other servers', async () => {
  const files = await readdir('src', { recursive: true });
  const senders: string[] = [];
  for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
    // Code for browsers, and programs that are clients of a gateway.
    if (/^(?:console|gateway\/pages\/browser|operator\/tracking-plan|recorder)\//.test(file)) continue;
    const text = await readFile(join('src', file), 'utf8');
    if (/from 'undici'|(?<![.\w])fetch\(|\bhttps?\.(?:request|get)\(/.test(text)) senders.push(file);
  }
  expect(senders.every((file) => file.startsWith('core/outbound/'))).toBe(true);
});
