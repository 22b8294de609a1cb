import { largest } from '../core/arrays.ts';
import { suggestion } from '../core/text/suggestion.ts';
import { UsageError } from './command-arguments.ts';
import { COMMANDS, type Command, type CommandName } from './command.ts';

export interface Help {
  readonly name: 'help';
  readonly text: string;
}

/**
 * Parses the arguments of the command line.
 * @throws UsageError if there is no command, or its arguments are invalid.
 */
export function parseCommandLine(args: readonly string[]): Command | Help {
  if (args.length === 0) throw new UsageError(helpOf().trimEnd());
  const isHelp = args[0] === 'help';
  const wantsHelp = isHelp || args.some(isHelpOption);
  const [noun = '', verb = ''] = args.slice(isHelp ? 1 : 0).filter((argument) => !isHelpOption(argument));
  const name = [`${noun} ${verb}`, noun].find(isCommandName);
  if (wantsHelp && (name || noun === '')) return { name: 'help', text: helpOf(name) };
  const isOnlyNoun = isNoun(noun) && verb === '';
  if (isOnlyNoun && wantsHelp) return { name: 'help', text: helpOfNoun(noun) };
  if (isOnlyNoun) throw new UsageError(helpOfNoun(noun).trimEnd());
  if (!name) throw new UsageError(unknown(`${noun} ${verb}`.trim()));
  // The compiler does not know that the name and what is parsed belong together.
  return { name, ...COMMANDS[name].parse(args.slice(name.split(' ').length)) } as Command;
}

const unknown = (name: string) =>
  `unknown command '${name}'${suggestion(name, Object.keys(COMMANDS), (nearest) => `'${nearest}'`) || ';'} --help lists them`;

const isCommandName = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text);

const isHelpOption = (argument: string): boolean => argument === '--help' || argument === '-h';

const isNoun = (text: string): boolean => Object.keys(COMMANDS).some((name) => name.startsWith(`${text} `));

const CALL = 'npm run --silent cli --';

/** The text of `--help`: all commands, or one of them with its options. */
export function helpOf(command?: CommandName): string {
  if (command === undefined) {
    return `Usage: ${CALL} <command>\n\n${commandList('')}\n--help after a command lists its options; --version prints the version.\n`;
  }
  const { takes, summary, parameters } = COMMANDS[command];
  const width = widest(parameters.map(({ usage }) => usage));
  const lines = parameters.map(({ usage, meaning }) => `  ${usage.padEnd(width)}  ${meaning}\n`);
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
