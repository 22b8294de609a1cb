import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useTestGateway } from '../support/fixtures/gateway.ts';

const gateway = useTestGateway();

const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    ' padded ',
    'NULL',
    'null',
    '\n',
    'a\n,b',
    '\t"',
    '\\',
    '\\"',
    '{}',
    '{a,b}',
    ',',
    "'",
    '🙂',
  ),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
);

test('a list of texts is stored and returned unchanged, with spaces, quotation marks, line breaks and NULL', async () => {
  const { key } = await gateway.createKey();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (args) => {
      const body = { type: 'stdio', name: `Server ${(count += 1)}`, command: 'mcp', args };
      const created = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', { key, body });
      const id = Buffer.from(`McpServer:${created.body.connection.id}`).toString('base64');
      const { data } = await gateway.graphql<{ node: { args: string[] } }>(
        key,
        'query($id: ID!) { node(id: $id) { ... on McpServer { args } } }',
        { id },
      );
      expect(data?.node.args).toEqual(args);
    }),
  );
});
