import { readFile } from 'node:fs/promises';

/** The blocks of code of a page, such as `docs/mcp.md`, in one of these languages; '' is none. */
export async function codeBlocks(page: string, ...languages: readonly string[]): Promise<string[]> {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, language = '', block = '']) =>
    languages.includes(language) ? [block] : [],
  );
}
