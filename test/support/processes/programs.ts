import { delimiter, dirname, join } from 'node:path';

export const checkout = join(import.meta.dirname, '../../..');

/** The program that starts the gateway, its worker and the command line. */
export const GATEWAY = join(checkout, 'bin/gateway');

/** The variables of programs that tests start: they find the Node.js of the tests, and share the folder for compiled code. */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
  NODE_COMPILE_CACHE: join(checkout, 'node_modules/.cache/compiled'),
};

/** The command of a container in a YAML file, where it is a list on one line. */
export function commandOf(yaml: string): string[] {
  const [, list = ''] = /^ +command:\s*\[([^\]]*)\]$/m.exec(yaml) ?? [];
  return list.split(', ');
}
