import manifest from '../../../package.json' with { type: 'json' };

const [, environment = '', nodeArguments = ''] =
  /^exec env ((?:\w+=\S+ )+)node (.+) src\/main\.ts$/.exec(manifest.scripts.start) ?? [];

/** The arguments that `npm start` gives to node. */
export const NODE_ARGUMENTS = nodeArguments.split(' ').filter(Boolean);

/** The variables that `npm start` sets for node: the folder for compiled code, relative to the working directory. */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = Object.fromEntries(
  environment
    .split(' ')
    .filter(Boolean)
    .map((pair) => pair.split('=')),
);

/** The command of a container in a YAML file, where it is a list on one line or on several. */
export function commandOf(yaml: string): string[] {
  const [, list = ''] = /^ +command:\s*\[([^\]]*)\]$/m.exec(yaml) ?? [];
  return list
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}
