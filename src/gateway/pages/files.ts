import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type StaticFile, staticFile } from '../../core/http/static-file.ts';

/** The files of the pages. Each address contains a hash of the content, so that browsers can cache it. */
const files = new Map<string, StaticFile>();

export const fileAt = (address: string): StaticFile | undefined => files.get(address);

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  graphql: 'text/plain; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
};

/** Publishes a file by its name, and returns its address. */
export function publish(name: string, content: Buffer, headers: Readonly<Record<string, string>> = {}): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const address = `/assets/${hash}/${name}`;
  const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  files.set(address, staticFile(content, type, { isImmutable: true, headers }));
  return address;
}

/** Publishes a file of the folder `files`. */
export const publishOwn = (name: string): string =>
  publish(name, readFileSync(new URL(`files/${name}`, import.meta.url)));

const resolve = createRequire(import.meta.url).resolve;

/** Reads a file of a package, even if the package does not export it. Removes the link to its source map, which is not served. */
export function readFromPackage(path: string): string {
  const [, name = '', rest = ''] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(path) ?? [];
  const folder = (resolve.paths(name) ?? []).map((modules) => join(modules, name)).find(existsSync);
  if (folder === undefined) throw new Error(`the package ${name} is not installed`);
  const content = readFileSync(join(folder, rest), 'utf8');
  return content.replace(/\n\/[/*]# sourceMappingURL=.*\s*$/, '\n');
}

export const publishFromPackage = (path: string): string =>
  publish(path.split('/').at(-1) ?? path, Buffer.from(readFromPackage(path)));

export const BASE_STYLE = publishOwn('base.css');
export const FAVICON = publishOwn('favicon.svg');
