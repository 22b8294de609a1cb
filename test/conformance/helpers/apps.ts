import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The sample apps import code that tools of others generate from the published contracts. Each run generates it again in `generated/`, so
// the apps are not part of the type check of this folder; their tests check them instead.

const HERE = fileURLToPath(new URL('..', import.meta.url));

export const SCHEMA = fileURLToPath(new URL('../../../schema.graphql', import.meta.url));
export const OPENAPI = fileURLToPath(new URL('../../../openapi.json', import.meta.url));

/** The path of a file of a sample app. */
export const appFile = (path: string) => `${HERE}apps/${path}`;

/** An empty folder `generated/<name>`. */
export async function generatedFolder(name: string): Promise<string> {
  const folder = `${HERE}generated/${name}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  return folder;
}

const COMPILER = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** The type errors in files of a sample app and their imports. A missing expected error is also an error. */
export async function typeErrors(...paths: string[]): Promise<string[]> {
  const config = `${await generatedFolder(`types${paths[0]?.replaceAll(/\W+/g, '-')}`)}/tsconfig.json`;
  const files = paths.map(appFile);
  const compilerOptions = { incremental: false, tsBuildInfoFile: null };
  await writeFile(
    config,
    JSON.stringify({ extends: `${HERE}apps/tsconfig.json`, compilerOptions, files, include: [] }),
  );
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [COMPILER, '-p', config], { cwd: HERE }).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error,
  );
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}
