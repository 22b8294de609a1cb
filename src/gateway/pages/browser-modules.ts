import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';
import { publishAt, readFromPackage } from './files.ts';

/** Addresses of JavaScript modules. */
export interface BrowserModules {
  /** The main module. */
  readonly main: string;
  /**
   * The modules that the main module imports, directly or not, so that the browser can preload them instead of following imports one by one.
   * Those of an `import()` are loaded when they are needed.
   */
  readonly imported: readonly string[];
}

/** The package for pages with subscriptions. The name of its shared part changes with its version. */
export const SUBSCRIPTION_CLIENT = {
  'graphql-ws/client': 'graphql-ws/dist/client.js',
  'graphql-ws/common': 'graphql-ws/dist/common-CGW11Fyb.js',
};

/** A worker has the policy of its own file: it may load its modules, and connect to the gateway. */
const WORKER_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'",
};

/**
 * Publishes TypeScript modules of a folder as JavaScript: types and comments are removed, nothing is bundled or minified. `packages`
 * maps imported package names to files, and `values` modules to what they export: JSON. The address of all modules contains a hash of their contents, so that browsers
 * can cache them.
 */
export function publishModules(
  folder: URL,
  names: readonly [main: string, ...others: string[]],
  packages: Readonly<Record<string, string>> = {},
  values: Readonly<Record<string, object>> = {},
): BrowserModules {
  const fileOf = new Map<string, string>();
  for (const [name, path] of Object.entries(packages)) {
    const file = `${name.replaceAll('/', '-')}.js`;
    fileOf.set(name, file).set(path, file);
  }
  const contents = new Map<string, string>();
  for (const name of names) {
    const source = readFileSync(new URL(name, folder), 'utf8');
    contents.set(name.replace(/\.ts$/, '.js'), withAddresses(withoutTypes(source), fileOf));
  }
  for (const [name, exported] of Object.entries(values)) {
    const constants = Object.entries(exported).map(([key, value]) => `export const ${key} = ${JSON.stringify(value)};`);
    contents.set(name.replace(/\.ts$/, '.js'), constants.join('\n'));
  }
  for (const [name, path] of Object.entries(packages))
    contents.set(fileOf.get(name) ?? name, withAddresses(readFromPackage(path), fileOf, path));
  const hash = createHash('sha256')
    .update(JSON.stringify([...contents]))
    .digest('hex')
    .slice(0, 16);
  const addressOf = new Map<string, string>();
  for (const [name, content] of contents) {
    const headers = name.endsWith('-worker.js') ? WORKER_HEADERS : {};
    addressOf.set(name, publishAt(`/assets/${hash}/${name}`, content, 'text/javascript; charset=utf-8', headers));
  }
  const imported = [...importedBy(names[0].replace(/\.ts$/, '.js'), contents)].map((name) => addressOf.get(name) ?? '');
  return { main: imported[0] ?? '', imported };
}

/** A module and all that it imports, without those of an `import()`. */
function importedBy(main: string, contents: ReadonlyMap<string, string>): ReadonlySet<string> {
  const found = new Set([main]);
  // A set also visits what is added meanwhile.
  for (const name of found)
    for (const [, imported = ''] of (contents.get(name) ?? '').matchAll(/\b(?:from|import)\s*['"]\.\/([^'"\n]+)['"]/g))
      if (contents.has(imported)) found.add(imported);
  return found;
}

/** Replaces imports by relative file addresses for the browser. `within` is the file when the code is from a package. */
function withAddresses(code: string, fileOf: ReadonlyMap<string, string>, within?: string): string {
  const addressOf = (path: string) => {
    if (!path.startsWith('./')) return fileOf.get(path);
    return within === undefined
      ? path.slice(2).replace(/\.ts$/, '.js')
      : fileOf.get(posix.join(posix.dirname(within), path));
  };
  return code.replaceAll(
    /(\b(?:from|import)\s*\(?\s*)(['"])([^'"\n]+)\2/g,
    (whole, before: string, quote: string, path: string) => {
      const file = addressOf(path);
      return file === undefined ? whole : `${before}${quote}./${file}${quote}`;
    },
  );
}

/** Removes comments of whole lines, and the blanks where types were. The numbers of lines stay, for the traces of errors. */
function withoutComments(code: string): string {
  return code
    .replaceAll(/^[ \t]*(?:\/\*\*[^]*?\*\/|\/\/.*)$/gm, (comment) => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/[ \t]+$/gm, '');
}

/** Removes types. The warning of Node.js that this function is experimental is suppressed, because it is of no use to operators. */
function withoutTypes(source: string): string {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return withoutComments(stripTypeScriptTypes(source, { mode: 'strip' }));
  } finally {
    process.emitWarning = emitWarning;
  }
}
