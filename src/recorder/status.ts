/** What nobody sees when it happens: whether the hooks record. */

import * as fs from 'node:fs';
import { join } from 'node:path';
import { BASE, GATEWAY, KEY, say, settingsProblem } from './common.ts';
import { requireAccepted } from './gateway.ts';
import { installedFiles } from './hooks.ts';

const LAST_ERROR = join(BASE, 'last-error.json');

interface LastError {
  readonly at: string;
  readonly message: string;
}

/** Keeps the error of a hook until one succeeds. */
export function noteError(message: string) {
  try {
    fs.mkdirSync(BASE, { recursive: true, mode: 0o700 });
    const error: LastError = { at: new Date().toISOString(), message };
    fs.writeFileSync(LAST_ERROR, JSON.stringify(error), { mode: 0o600 });
  } catch {
    // Nothing can be kept there.
  }
}

export function clearError() {
  fs.rmSync(LAST_ERROR, { force: true });
}

/** @returns whether there is an error */
export function sayLastError() {
  try {
    const { at, message } = JSON.parse(fs.readFileSync(LAST_ERROR, 'utf8')) as LastError;
    say(`the last sync has failed at ${at}: ${message}`);
    return true;
  } catch {
    return false;
  }
}

export async function runStatus() {
  const problem = settingsProblem();
  const files = installedFiles();
  say(files.length > 0 ? `hooks are in ${files.join(' and ')}` : 'no hooks are installed');
  const hasFailed = sayLastError();
  if (problem !== undefined) say(problem);
  else {
    await requireAccepted();
    say(`${GATEWAY} takes recordings with ${KEY === '' ? 'the login' : 'the key'}`);
  }
  if (hasFailed || problem !== undefined) process.exitCode = 1;
}
