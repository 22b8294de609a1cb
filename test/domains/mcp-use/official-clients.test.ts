import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type UseFixture, startUseFixture } from '../../support/fixtures/mcp-use.ts';
import { legacyMcpHandler, mcpHandler } from '../../support/peers/mcp-server.ts';

let fixture: UseFixture;
beforeAll(async () => {
  fixture = await startUseFixture();
});
afterAll(() => fixture.stop());

/** What the official client gets from a server, over one address. */
async function answersAt(url: string, headers: Record<string, string>, mode: 'auto' | 'legacy') {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  try {
    return {
      version: client.getNegotiatedProtocolVersion(),
      server: client.getServerVersion(),
      tools: await client.listTools(),
      sum: await client.callTool({ name: 'add', arguments: { a: 19, b: 23 } }),
    };
  } finally {
    await client.close();
  }
}

test.each([
  ['2026-07-28', 'auto', mcpHandler],
  ['2025-11-25', 'auto', legacyMcpHandler],
  ['2025-11-25', 'legacy', mcpHandler],
] as const)(
  'the official client of %s (%s) gets the same answers through the gateway as without it',
  async (version, mode, handler) => {
    const { url, key, connectionId, peer } = fixture;
    peer.handler = handler();
    const direct = await answersAt(`${peer.origin}/mcp`, {}, mode);
    expect(direct.version).toBe(version);
    const through = await answersAt(
      `${url}/v1/mcp-connections/${connectionId}/mcp`,
      { Authorization: `Bearer ${key}` },
      mode,
    );
    expect(through).toEqual(direct);
    expect(through.sum).toMatchObject({ content: [{ type: 'text', text: '42' }] });
  },
);
