/**
 * Bundles the scripts of the pages: one file for each page, one for the worker of the console, and the recorder. `npm ci` and the build of the image
 * run this file; the gateway bundles when it starts only if the sources have changed since. esbuild-wasm has neither a binary nor an install script, so
 * that it also works offline, without optional packages and on any processor.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync, stop } from 'esbuild-wasm';

/** @typedef {Readonly<Record<string, string>>} Scripts the text of each script by its name */

/** @typedef {{ inputs: readonly string[], hash: string, scripts: Scripts }} Kept what was bundled, of which files, and a hash of them */

const folder = fileURLToPath(new URL('../../', import.meta.url));
/** @type {import('esbuild-wasm').BuildOptions} */
const OF_PAGES = {
  entryPoints: {
    console: 'console/main.tsx',
    'stream-worker': 'console/stream-worker.ts',
    graphiql: 'gateway/pages/browser/graphiql.ts',
    reference: 'gateway/pages/browser/reference.ts',
    'sign-in': 'gateway/pages/browser/sign-in.ts',
  },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  target: 'es2022',
  minify: true,
};
const RECORDER = 'recorder/main.ts';
const GENERATED = fileURLToPath(new URL('generated/', import.meta.url));
const BUNDLE = `${GENERATED}scripts.json`;

/** People read the recorder before they run it: its names stay, and the comment at its top. @returns {import('esbuild-wasm').BuildOptions} */
function ofRecorder() {
  const [top = ''] = readFileSync(`${folder}${RECORDER}`, 'utf8').split('\n\n');
  const js = `${top.replace(/^#!.*\n/, '')}\n`;
  return { entryPoints: { record: RECORDER }, platform: 'node', target: 'node20', banner: { js } };
}

/** A hash of all that the bundles are made from. @param {readonly string[]} inputs */
function hashOf(inputs) {
  const hash = createHash('sha256').update(readFileSync(new URL('bundle.mjs', import.meta.url)));
  hash.update(readFileSync(createRequire(import.meta.url).resolve('esbuild-wasm')));
  for (const name of inputs) hash.update(`\n${name}\n`).update(readFileSync(`${folder}${name}`));
  return hash.digest('hex');
}

/** @returns {Kept} */
function bundled() {
  // esbuild-wasm starts the program `node`, which in PATH can be an older one than this.
  const { PATH = '' } = process.env;
  process.env['PATH'] = `${dirname(process.execPath)}${delimiter}${PATH}`;
  try {
    return built();
  } finally {
    process.env['PATH'] = PATH;
    // Otherwise its process goes on beside this one.
    void stop();
  }
}

/** @returns {Kept} */
function built() {
  const results = [OF_PAGES, ofRecorder()].map((options) =>
    buildSync({
      ...options,
      absWorkingDir: folder,
      outdir: '/',
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      charset: 'utf8',
      legalComments: 'none',
      logLevel: 'warning',
    }),
  );
  const files = results.flatMap(({ outputFiles }) => outputFiles);
  const inputs = [...new Set(results.flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {})))].toSorted();
  const named = files.map(({ path, text }) => [path.replace(/^.*[\\/]/, '').replace(/\.js$/, ''), text]);
  return { inputs, hash: hashOf(inputs), scripts: Object.fromEntries(named) };
}

/**
 * The scripts as the sources are now. What was bundled is kept for the next start, where its folder can be written.
 *
 * @returns {Scripts}
 */
export function bundledScripts() {
  const known = read();
  if (known) return known;
  const made = bundled();
  try {
    mkdirSync(GENERATED, { recursive: true });
    // Renamed, so that a process that starts at the same moment reads a whole file.
    writeFileSync(`${BUNDLE}.${process.pid}`, JSON.stringify(made));
    renameSync(`${BUNDLE}.${process.pid}`, BUNDLE);
  } catch {
    // A read-only file system: the scripts are in memory.
  }
  return made.scripts;
}

/** What was kept, unless one of its files has changed. @returns {Scripts | undefined} */
function read() {
  try {
    /** @type {Kept} */
    const { inputs, hash, scripts } = JSON.parse(readFileSync(BUNDLE, 'utf8'));
    return hashOf(inputs) === hash ? scripts : undefined;
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) bundledScripts();
