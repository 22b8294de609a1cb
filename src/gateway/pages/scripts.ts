import { WORKER_POLICY } from '../../core/http/content-security-policy.ts';
import { bundledScripts } from './bundle.mjs';
import { publish } from './files.ts';

const WORKER_HEADERS = { 'Content-Security-Policy': WORKER_POLICY };

let scripts: ReturnType<typeof bundledScripts> | undefined;

/** Bundles the scripts if they have changed, so that the first page does not wait for it. */
export function prepareScripts(): void {
  scripts ??= bundledScripts();
}

export function scriptNamed(name: string): string {
  prepareScripts();
  const text = scripts?.[name];
  if (text === undefined) throw new Error(`there is no script ${name}`);
  return text;
}

/** Publishes the script of a page. @returns its address, which contains a hash of the script, so that browsers can cache it */
export const publishScript = (name: string): string =>
  publish(`${name}.js`, Buffer.from(scriptNamed(name)), name.endsWith('-worker') ? WORKER_HEADERS : {});
