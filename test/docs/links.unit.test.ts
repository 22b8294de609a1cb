import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/** As GitHub makes the anchor of a heading. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const anchorsOf = (page: string) =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title));

test('every link of a document leads to a file and a heading that exist', () => {
  const pages = globSync('{*.md,docs/**/*.md,{src,test}/**/*.md}', { exclude: ['**/node_modules/**'] });
  const broken = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([link, path = '', anchor]) => {
        const file = path === '' ? page : join(dirname(page), path);
        if (!existsSync(file)) return [`${page}: ${link}`];
        return anchor === undefined || anchorsOf(file).includes(anchor) ? [] : [`${page}: ${link}`];
      },
    ),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(broken).toEqual([]);
});

test('every document that a comment or a document names by its path exists', () => {
  const files = globSync('{*.md,{bin,deploy,docs,src,test}/**/*}', {
    exclude: ['**/node_modules/**'],
    withFileTypes: true,
  });
  const missing = files
    .filter((file) => file.isFile() && /\.(?:md|ts|mjs|yml|yaml|sql|ini|cfg|service)$|^gateway$/.test(file.name))
    .map((file) => join(file.parentPath, file.name))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?<![\w./-])docs\/[\w/-]+\.md/g)]
        .filter(([path]) => !existsSync(path))
        .map(([path]) => `${file}: ${path}`),
    );
  expect(missing).toEqual([]);
});
