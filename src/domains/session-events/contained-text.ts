/**
 * Texts of people, agents and tools in Markdown. Whatever they are, nothing in them can be taken for something else: their lines are quoted,
 * or in blocks of code that they cannot end.
 */

/** A text in one line. */
export const inline = (text: string): string =>
  printable(text)
    .replaceAll(/[\s\u0085]+/g, ' ')
    .trim()
    .replaceAll(TAG, escapedTag);

/** A text that may be Markdown. Its lines are quoted, its blocks of code are written anew. */
export function contained(text: string): string {
  const blocks: string[] = [];
  let quoted: string[] = [];
  let code: { readonly fence: string; readonly info: string; readonly lines: string[] } | undefined;
  const end = () => {
    if (code) blocks.push(fenced(code.lines.join('\n'), code.info));
    else if (quoted.some((line) => line !== '>')) blocks.push(quoted.join('\n'));
    code = undefined;
    quoted = [];
  };
  for (const line of printable(text).split(LINE_END)) {
    const opening = code ? undefined : openingIn(line);
    if (opening) {
      end();
      code = { ...opening, lines: [] };
    } else if (!code) quoted.push(`> ${withoutMeaning(line)}`.trimEnd());
    else if (closes(line, code.fence)) end();
    else code.lines.push(line);
  }
  end();
  return blocks.join('\n\n');
}

/** A block of code, whose fence is longer than any in the text. */
export function fenced(text: string, info = ''): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = '`'.repeat(longest + 1);
  const lines = printable(text).split(LINE_END);
  if (lines.at(-1) === '') lines.pop();
  return `${fence}${info}\n${lines.join('\n')}\n${fence}`;
}

/** All that a program takes for the end of a line. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Without characters that control a terminal. */
const printable = (text: string): string => text.replaceAll(/(?![\t\n\v\f\r\u0085])\p{Cc}/gu, '\uFFFD');

/** The fence that a line begins a block of code with (CommonMark 0.31, section 4.5). */
function openingIn(line: string): { readonly fence: string; readonly info: string } | undefined {
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
  if (fence === undefined) return undefined;
  const info = line.trimStart().slice(fence.length).trim();
  if (fence.startsWith('`') && info.includes('`')) return undefined;
  return { fence, info: info.replaceAll('`', '') };
}

function closes(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text === fence.charAt(0).repeat(text.length);
}

/** A line that begins a heading or ends one, also in a list or a quotation (CommonMark 0.31, sections 4.2 and 4.3). */
const HEADING = /^((?:[\s>]|[-+*]\s|\d{1,9}[.)]\s)*)(?=#{1,6}(?:\s|$)|=+\s*$|-+\s*$)/;
/** What begins HTML (CommonMark 0.31, section 6.6). */
const TAG = /<(?=[a-z/!?])/gi;

/** A line without headings and HTML. */
const withoutMeaning = (line: string): string => line.replace(HEADING, '$1\\').replaceAll(TAG, escapedTag);

function escapedTag(tag: string, at: number, text: string): string {
  let start = at;
  while (text[start - 1] === '\\') start -= 1;
  return (at - start) % 2 === 1 ? tag : `\\${tag}`;
}
