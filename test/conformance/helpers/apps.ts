import { mkdir, rm } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

// The sample apps lean on code that other people's tools generate from the published contracts. It is made anew for each run, under
// `generated/`; that is why the apps stand outside of this folder's type check and are checked by their tests instead.

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

/** What TypeScript has against files of a sample app and all that they import. An expected error that isn't there is one, too. Takes ten seconds and more. */
export function typeErrors(...paths: string[]): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    `${HERE}apps/tsconfig.json`,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
      },
    },
  );
  const program = ts.createProgram(paths.map(appFile), config?.options ?? {});
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file
      ? `${relative(HERE, file.fileName)}:${file.getLineAndCharacterOfPosition(start).line + 1}`
      : 'all';
    return `${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
