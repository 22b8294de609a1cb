import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ExecutionResult } from 'graphql';
import { isObject } from '../../core/is-object.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';
import { ERROR_CODE, ERROR_MESSAGE } from './tools.ts';

/** An error of the gateway is a result that names its code, because the model can act on it. */
export function errorResult(code: string, message: string): CallToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true };
}

interface Called {
  readonly isMutation: boolean;
  /** The largest answer. The text is a string in another JSON document, where it can be twice as long. */
  readonly maxBytes: number;
}

/** An error always means that nothing was changed: what else a mutation could not do or read is a second text. */
export function toToolResult({ data, errors }: ExecutionResult, { isMutation, maxBytes }: Called): CallToolResult {
  const values = Object.values(data ?? {});
  const messages = (errors ?? []).map(({ message, extensions }) => `${String(extensions['code'])}: ${message}`);
  const refusals = values
    .filter(isRefusal)
    .map((value) => `${String(value[ERROR_CODE])}: ${String(value[ERROR_MESSAGE])}`);
  const failures = [...refusals, ...messages].join('\n');
  const isChanged = isMutation && values.some((value) => value !== null && !isRefusal(value));
  if (failures !== '' && !isChanged) return { content: [{ type: 'text', text: failures }], isError: true };
  const text = stringifyWithRawJson(data ?? null);
  const isTooLarge = Buffer.byteLength(text) * 2 > maxBytes;
  const excess = `the answer is larger than ${maxBytes / 2} bytes`;
  if (isTooLarge && !isChanged) return errorResult('ANSWER_TOO_LARGE', `${excess}; ask for a smaller page`);
  const shown = isTooLarge ? `The change was made, but ${excess}.` : text;
  const others = failures === '' ? [] : [`A change was made, but not everything was done or read:\n${failures}`];
  return { content: [shown, ...others].map((each) => ({ type: 'text', text: each })) };
}

function isRefusal(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && ERROR_CODE in value;
}
