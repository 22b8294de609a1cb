import { inspect } from 'node:util';

/**
 * Converts the JSON lines of the log to readable lines for a terminal: time, level, message, and short fields.
 * pino-pretty was not used, because it has twelve dependencies and no special format for requests.
 */
export function createLineFormat({ hasColors }: { readonly hasColors: boolean }): (json: string) => string {
  const paint = (code: number, text: string) => (hasColors && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text);
  return (json) => {
    const { time, level, msg, err, ...fields }: Entry = JSON.parse(json);
    const { name, color } = LEVELS[level] ?? { name: String(level), color: 0 };
    const clock = paint(DIM, timeOf(new Date(time)));
    const [text, rest] = msg === 'request' ? requestOf(fields) : [msg, fields];
    const details = paint(DIM, detailsOf(rest));
    const reason = err?.message === undefined ? '' : `: ${plain(err.message)}`;
    const line = [clock, paint(color, name), `${plain(text)}${reason}`, details].filter(Boolean).join(' ');
    return level >= ERROR && err?.stack ? `${line}\n${paint(DIM, stackOf(err.stack))}\n` : `${line}\n`;
  };
}

interface Entry {
  readonly time: number;
  readonly level: number;
  readonly msg: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

const DIM = 2;
const RED = 31;
const YELLOW = 33;
const CYAN = 36;
const ERROR = 50;

const LEVELS: Readonly<Record<number, { readonly name: string; readonly color: number }>> = {
  10: { name: 'trace', color: DIM },
  20: { name: 'debug', color: DIM },
  30: { name: 'info ', color: CYAN },
  40: { name: 'warn ', color: YELLOW },
  50: { name: 'error', color: RED },
  60: { name: 'fatal', color: RED },
};

function timeOf(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Fields that are useful only for searching the JSON log. */
const LEFT_OUT: ReadonlySet<string> = new Set(['pid', 'hostname', 'traceId', 'keyId', 'api']);

/** The text of a request, such as `POST /graphql 200 12 ms`, and the other fields. */
function requestOf({ method, path, status, ms, requestId, ...rest }: Fields): [string, Fields] {
  const isFault = typeof status === 'number' && status >= 400;
  const time = typeof ms === 'number' ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : '';
  const text = `${String(method).padEnd(6)} ${String(path)} ${String(status)} ${time}`;
  return [text, isFault ? { ...rest, requestId } : rest];
}

const detailsOf = (fields: Fields): string =>
  Object.entries(fields)
    .filter(([name, value]) => value !== undefined && value !== null && !LEFT_OUT.has(name))
    .map(
      ([name, value]) =>
        `${name}=${plain(typeof value === 'string' ? value : inspect(value, { breakLength: Infinity }))}`,
    )
    .join(' ');

function stackOf(stack: string): string {
  const [, ...frames] = stack.split('\n');
  return frames.map(plain).join('\n');
}

/** Escapes control characters and line breaks, because the text can come from a client. */
const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (found) => {
    const code = found.codePointAt(0) ?? 0;
    return found === '\n' ? '\\n' : `\\u{${code.toString(16)}}`;
  });
