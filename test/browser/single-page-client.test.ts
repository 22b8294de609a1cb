import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { startPeer } from '../support/peers/mcp-server.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { connectSocket } from '../support/fixtures/websockets.ts';
import { accessibilityFindings, overflowOf, saveScreenshot, startSite } from '../support/processes/browser.ts';

/** The page of docs/examples/clients, served by itself, with the settings of docs/clients.md. */

const FILE = await readFile(new URL('../../docs/examples/clients/single-page.html', import.meta.url), 'utf8');
const peer = await startPeer((_, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(FILE.replace('http://127.0.0.1:4000', site.url));
});
afterAll(() => peer.stop());
const site = await startSite({
  OAUTH_CLIENT_DOCUMENTS: 'false',
  CORS_ORIGINS: peer.origin,
  OAUTH_CLIENTS: JSON.stringify([{ id: 'sessions-page', name: 'Sessions page', redirectUris: [`${peer.origin}/`] }]),
});
site.dependencies.address.url = site.url;

test('a front end of others signs a person in, who chooses what it may do with GraphQL and REST', async () => {
  const { key } = await site.createKey();
  await createSession(site, key, { title: 'Shown by another front end' });
  const { page } = await site.open(`${peer.origin}/`, {}, await site.newContext({ key }));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Connect Sessions page?' }).waitFor();
  await page.getByText('the operator of this gateway').waitFor();
  await saveScreenshot(page, 'oauth-front-end');
  expect([await accessibilityFindings(page), await overflowOf(page)]).toEqual([[], 0]);
  await page.getByLabel('Change sessions.').uncheck();
  const answered = page.waitForResponse((response) => response.url().endsWith('/oauth/token'));
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  const tokens = (await (await answered).json()) as Record<'access_token' | 'refresh_token' | 'scope', string>;
  await page.getByText('Shown by another front end').waitFor();
  expect([tokens.scope, new URL(page.url()).search]).toEqual(['sessions.read', '']);

  (await connectSocket(site.url, tokens.access_token)).socket.close();
  const statusOf = async (path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${tokens.access_token}`, 'Content-Type': 'application/json' };
    return (await site.fetch(path, { ...init, headers })).status;
  };
  const change = { method: 'POST', body: '{"title":"x"}' };
  expect([
    await statusOf('/v1/sessions'),
    await statusOf('/events/2026-03/event-definitions'),
    await statusOf('/v1/sessions', change),
    await statusOf('/mcp', { method: 'POST', body: '{}' }),
    await statusOf('/v1/mcp', { method: 'POST', body: '{}' }),
  ]).toEqual([200, 403, 403, 401, 401]);
});

test('who refuses is told so by the page, and nothing was granted', async () => {
  const { key } = await site.createKey();
  const { page } = await site.open(`${peer.origin}/`, {}, await site.newContext({ key }));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('the person has refused the connection').waitFor();
  const { data } = await site.graphql<{ viewer: { connectedApps: { totalCount: number } } }>(
    key,
    '{ viewer { connectedApps { totalCount } } }',
  );
  expect(data?.viewer.connectedApps.totalCount).toBe(0);
});
