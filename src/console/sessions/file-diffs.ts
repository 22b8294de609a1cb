import { fieldsOf, jsonOf } from './event-content.ts';

/** Reads the changes of files from the inputs and outputs of tools. */

export interface DiffLine {
  readonly sign: '+' | '-' | ' ';
  readonly text: string;
}

/** The changes of one file. */
export interface Edit {
  readonly path: string;
  readonly lines: readonly DiffLine[];
}

type Fields = Readonly<Record<string, unknown>>;

const PATHS = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path', 'filename', 'target_file'];
/** Names of the fields with the text before and after, as agents call them. */
const REPLACEMENTS = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['old_source', 'new_source'],
  ['oldText', 'newText'],
] as const;
const PATCHES = ['patch', 'patchText', 'patch_text', 'unified_diff', 'diff', 'input'];
const CONTENTS = ['content', 'contents', 'file_text', 'new_source', 'insert_text'];
const WRITES = /write|create|edit|insert|patch/i;

/** The changes that a tool call asks for; an empty list if it changes no file. */
export function editsOf(name: string, input: string): readonly Edit[] {
  if (isPatch(input)) return [{ path: '', lines: patchLines(input) }];
  const fields = jsonOf(input);
  return fields ? editsIn(name, fields) : [];
}

function editsIn(name: string, fields: Fields): readonly Edit[] {
  const path = firstText(fields, PATHS) ?? '';
  const replaced = [fields, ...listOf(fields['edits']).map(fieldsOf)].flatMap((each) => replacement(path, each) ?? []);
  if (replaced.length > 0) return replaced;
  const patch = firstText(fields, PATCHES);
  if (patch !== undefined && isPatch(patch)) return [{ path, lines: patchLines(patch) }];
  const command = listOf(fields['command']).find((word) => typeof word === 'string' && isPatch(word));
  if (typeof command === 'string') return [{ path, lines: patchLines(command) }];
  const changed = listOf(fields['changes']).flatMap((change) => changeOf(fieldsOf(change)) ?? []);
  if (changed.length > 0) return changed;
  const content = firstText(fields, CONTENTS);
  return path !== '' && content !== undefined && WRITES.test(name) ? [{ path, lines: linesOf(content, '+') }] : [];
}

/** A text in place of another one: the lines that both begin and end with are their context. */
function replacement(path: string, fields: Fields): Edit | undefined {
  for (const [old, next] of REPLACEMENTS) {
    const [before, after] = [fields[old], fields[next]];
    if (typeof before === 'string' && typeof after === 'string') return { path, lines: replacedLines(before, after) };
  }
  return undefined;
}

function replacedLines(before: string, after: string): readonly DiffLine[] {
  const [old, next] = [splitLines(before), splitLines(after)];
  const most = Math.min(old.length, next.length);
  let start = 0;
  while (start < most && old[start] === next[start]) start++;
  let end = 0;
  while (end < most - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  const signed = (lines: readonly string[], sign: DiffLine['sign']) => lines.map((text) => ({ sign, text }));
  return [
    ...signed(old.slice(0, start), ' '),
    ...signed(old.slice(start, old.length - end), '-'),
    ...signed(next.slice(start, next.length - end), '+'),
    ...signed(old.slice(old.length - end), ' '),
  ];
}

/** A changed file in the list of a tool, with its patch if it is there. */
function changeOf(change: Fields): Edit | undefined {
  const path = firstText(change, PATHS);
  if (path === undefined) return undefined;
  const patch = firstText(change, PATCHES);
  return { path, lines: patch === undefined ? [] : patchLines(patch) };
}

/** Whether a text is a patch: of `git diff`, `diff -u`, or with the marks of `apply_patch`. */
export const isPatch = (text: string): boolean => /^(?:diff --git |\*\*\* Begin Patch|@@ -\d)/m.test(text);

export const patchLines = (patch: string): readonly DiffLine[] =>
  splitLines(patch).map((line) => {
    const sign = line.startsWith('+') && !line.startsWith('+++ ') ? '+' : isRemoved(line) ? '-' : ' ';
    return { sign, text: sign === ' ' && !line.startsWith(' ') ? line : line.slice(1) };
  });

const isRemoved = (line: string) => line.startsWith('-') && !line.startsWith('--- ');

const linesOf = (text: string, sign: DiffLine['sign']): readonly DiffLine[] =>
  splitLines(text).map((line) => ({ sign, text: line }));

const splitLines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

function firstText(fields: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
