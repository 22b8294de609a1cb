import { expect, test } from 'vitest';
import { clientNameOf } from '../../src/console/mcp-connections/client-names.ts';

test('a connection has another name in the configuration of clients where one of them keeps its handle for itself', () => {
  const handles = ['tracker', 'workspace', 'computer-use', 'claude-in-chrome', 'workspace-2'];
  expect(handles.map(clientNameOf)).toEqual([
    'tracker',
    'workspace-server',
    'computer-use-server',
    'claude-in-chrome-server',
    'workspace-2',
  ]);
});
