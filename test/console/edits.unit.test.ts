import { describe, expect, test } from 'vitest';
import { editsOf } from '../../src/console/sessions/file-diffs.ts';

describe('changes of files', () => {
  const signed = (name: string, input: object | string) =>
    editsOf(name, typeof input === 'string' ? input : JSON.stringify(input)).map(
      ({ path, lines }) => [path, ...lines.map(({ sign, text }) => sign + text)] as const,
    );

  test('are shown with their signs, as agents send them', () => {
    const replaced = ['a.ts', ' one', '-two', '+TWO', ' three'];
    const [before, after] = ['one\ntwo\nthree', 'one\nTWO\nthree'];
    expect(signed('Edit', { file_path: 'a.ts', old_string: before, new_string: after })).toEqual([replaced]);
    expect(signed('edit', { filePath: 'a.ts', oldString: before, newString: after })).toEqual([replaced]);
    expect(
      signed('MultiEdit', { file_path: 'a.ts', edits: [{ old_string: before, new_string: after }, 7, {}] }),
    ).toEqual([replaced]);
    expect(signed('Write', { file_path: 'b.ts', content: 'x\ny\n' })).toEqual([['b.ts', '+x', '+y']]);
    expect(signed('apply_patch', '*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch')).toEqual([
      ['', ' *** Begin Patch', ' *** Update File: a', '-x', '+y', ' *** End Patch'],
    ]);
    expect(signed('shell', { command: ['apply_patch', '*** Begin Patch\n+y'] })).toEqual([
      ['', ' *** Begin Patch', '+y'],
    ]);
    expect(signed('apply_patch', { changes: [{ path: 'a', diff: '@@ -1 +1 @@\n--- a\n-x\n+y' }] })).toEqual([
      ['a', ' @@ -1 +1 @@', ' --- a', '-x', '+y'],
    ]);
  });

  test('other inputs are no changes', () => {
    expect(signed('Read', { file_path: 'a.ts', content: 'x' })).toEqual([]);
    expect(signed('Bash', { command: 'git diff' })).toEqual([]);
    expect(signed('Edit', { file_path: 7, old_string: 'a', new_string: null, edits: 'x', changes: {} })).toEqual([]);
    expect(signed('Edit', '{"file_path":')).toEqual([]);
  });
});
