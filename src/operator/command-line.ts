import { largest } from '../core/arrays.ts';
import { UsageError } from './command-arguments.ts';
import { COMMANDS, type Command, type CommandName } from './command.ts';

/** Requests that need no database. */
export type Question = { readonly name: 'help'; readonly text: string } | { readonly name: 'version' };

/**
 * Parses the arguments of the command line.
 * @throws UsageError if there is no command, or its arguments are invalid.
 */
export function parseCommandLine(args: readonly string[]): Command | Question {
  const [first = '', second = ''] = args;
  if (args.length === 0) throw new UsageError(helpOf().trimEnd());
  if (first === '--version' || first === '-V') return { name: 'version' };
  const isHelp = first === 'help';
  const [noun = '', verb = ''] = isHelp ? args.slice(1) : [first, second];
  const name = [`${noun} ${verb}`, noun].find(isCommandName);
  const wantsHelp = isHelp || args.some((argument) => argument === '--help' || argument === '-h');
  if (wantsHelp) return { name: 'help', text: helpOf(name) };
  if (!name && second === '' && isNoun(first)) throw new UsageError(helpOfNoun(first).trimEnd());
  if (!name) throw new UsageError(`unknown command '${args.slice(0, 2).join(' ')}'; --help lists them`);
  // The compiler does not know that the name and what is parsed belong together.
  return { name, ...COMMANDS[name].parse(args.slice(name.split(' ').length)) } as Command;
}

const isCommandName = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text);

const isNoun = (text: string): boolean => Object.keys(COMMANDS).some((name) => name.startsWith(`${text} `));

const CALL = 'npm run --silent cli --';

/** The text of `--help`: all commands, or one of them with its options. */
export function helpOf(command?: CommandName): string {
  if (command === undefined) {
    return `Usage: ${CALL} <command>\n\n${commandList('')}\n--help after a command lists its options; --version prints the version.\n`;
  }
  const { takes, summary, parameters } = COMMANDS[command];
  const listed = parameters.flatMap(({ usage, meaning }) => (meaning === undefined ? [] : [{ usage, meaning }]));
  const width = widest(listed.map(({ usage }) => usage));
  const lines = listed.map(({ usage, meaning }) => `  ${usage.padEnd(width)}  ${meaning}\n`);
  return `Usage: ${`${CALL} ${command} ${takes}`.trimEnd()}\n\n${summary}\n${lines.length > 0 ? '\n' : ''}${lines.join('')}`;
}

/** The commands of a noun, such as `keys`. */
export const helpOfNoun = (noun: string): string => `Usage: ${CALL} ${noun} <command>\n\n${commandList(`${noun} `)}`;

function commandList(prefix: string): string {
  const commands = Object.entries(COMMANDS).filter(([name]) => name.startsWith(prefix));
  const width = widest(commands.map(([name]) => name));
  return commands.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`).join('');
}

const widest = (texts: readonly string[]): number =>
  largest(
    texts.map(({ length }) => length),
    0,
  );
