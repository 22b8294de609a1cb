import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (...path: string[]) => readFileSync(join(...path), 'utf8').trim();

const { version }: { readonly version: string } = JSON.parse(read(ROOT, 'package.json'));

export const VERSION = version;

/** Tells builds of one version apart: the commit, from `GATEWAY_BUILD`, which the image sets, or from the checkout; otherwise `unknown`. */
export const BUILD = (process.env['GATEWAY_BUILD'] || commitOf(ROOT) || 'unknown').slice(0, 12);

/** For people. */
export const VERSION_AND_BUILD = `${VERSION} (${BUILD})`;

/** `application_name` of all connections to PostgreSQL, which tells processes of other versions (core/postgres/finished-version.ts). */
export const PROCESS_NAME = `gateway/${VERSION}`;

/** What requests to other servers say of their sender. */
export const USER_AGENT = `WorkspaceGateway/${VERSION}`;

/** The commit that is checked out in a folder. Git itself refuses to read a folder of another user, such as root's. */
export function commitOf(root: string): string | undefined {
  try {
    const place = join(root, '.git');
    // A worktree has a file that names its folder.
    const folder = statSync(place).isDirectory() ? place : resolve(root, read(place).replace('gitdir: ', ''));
    const head = read(folder, 'HEAD');
    if (!head.startsWith('ref: ')) return head;
    const ref = head.slice('ref: '.length);
    const shared = existsSync(join(folder, 'commondir')) ? resolve(folder, read(folder, 'commondir')) : folder;
    if (existsSync(join(shared, ref))) return read(shared, ref);
    const packed = read(shared, 'packed-refs').split('\n');
    return packed.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0];
  } catch {
    return undefined;
  }
}
