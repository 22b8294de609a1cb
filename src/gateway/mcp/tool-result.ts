import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ExecutionResult } from 'graphql';
import { isObject } from '../../core/is-object.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';
import { ERROR_CODE, ERROR_MESSAGE } from './tools.ts';

/** An error of the gateway is a result that names its code, because the model can act on it. */
export function errorResult(code: string, message: string): CallToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true };
}

/** `maxBytes` is the largest answer. The text is a string in another JSON document, where it can be twice as long. */
export function toToolResult({ data, errors }: ExecutionResult, maxBytes: number): CallToolResult {
  const messages = (errors ?? []).map(({ message, extensions }) => `${String(extensions['code'])}: ${message}`);
  const refusals = Object.values(data ?? {}).flatMap((value) =>
    isObject(value) && ERROR_CODE in value ? [`${String(value[ERROR_CODE])}: ${String(value[ERROR_MESSAGE])}`] : [],
  );
  const failures = [...refusals, ...messages];
  if (failures.length > 0) return { content: [{ type: 'text', text: failures.join('\n') }], isError: true };
  const text = stringifyWithRawJson(data ?? null);
  if (Buffer.byteLength(text) * 2 > maxBytes)
    return errorResult('ANSWER_TOO_LARGE', `the answer is larger than ${maxBytes / 2} bytes; ask for a smaller page`);
  return { content: [{ type: 'text', text }] };
}
