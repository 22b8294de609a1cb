import { readFileSync } from 'node:fs';

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** The gateway's version. */
export const VERSION = version;

/** What requests to other servers say of their sender. */
export const USER_AGENT = `WorkspaceGateway/${VERSION}`;
