import { readFileSync } from 'node:fs';
import { type StaticFile, staticFile } from '../../core/http/static-file.ts';

/** The files of the pages, each at an address that contains its hash, so that browsers keep it. */

const files = new Map<string, StaticFile>();

/** Publishes a file, and returns its address. */
export function publish(name: string, content: Buffer | string, type: string): string {
  const file = staticFile(content, type, { isImmutable: true });
  const address = `/assets/${file.hash}/${name}`;
  files.set(address, file);
  return address;
}

export function fileAt(address: string): StaticFile | undefined {
  return files.get(address);
}

function publishOwn(name: string, type: string): string {
  return publish(name, readFileSync(new URL(`files/${name}`, import.meta.url)), type);
}

export const BASE_STYLE = publishOwn('base.css', 'text/css; charset=utf-8');
export const FAVICON = publishOwn('favicon.svg', 'image/svg+xml');
