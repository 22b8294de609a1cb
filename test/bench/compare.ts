import { isDeepStrictEqual } from 'node:util';
import { headersFor } from './drive.ts';
import type { Target } from './process.ts';
import type { Work, WorkRequest } from './work.ts';

/** @throws Error if baseline and gateway answer a request of a workload differently. */
export async function requireEqualAnswers(work: Work, baseline: Target, gateway: Target, key: string): Promise<void> {
  for (const request of work.requests) {
    const [expected, actual] = [await ask(baseline, request, key), await ask(gateway, request, key)];
    const [a, b] = work.writes ? [withoutTime(expected), withoutTime(actual)] : [expected, actual];
    if (!isDeepStrictEqual(a, b)) throw new Error(`${work.name}: unequal answers${difference(a, b)}`);
  }
}

/** @throws Error for an answer that is an error */
export async function ask(target: Target, request: WorkRequest, key: string): Promise<unknown> {
  const { method, path, body } = request;
  const response = await fetch(`${target.url}${path}`, {
    method,
    headers: headersFor(key, body),
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  if (!response.ok)
    throw new Error(`${target.name} answered ${response.status} to ${method} ${path}: ${text.slice(0, 500)}`);
  const answer: unknown = JSON.parse(text);
  if (typeof answer !== 'object' || answer === null) return answer;
  if ('errors' in answer) throw new Error(`${target.name} answered ${text.slice(0, 1000)}`);
  // Cost and request id exist only in the gateway.
  const { extensions: _, ...comparable } = { extensions: undefined, ...answer };
  return comparable;
}

/** Without the times of changes. */
function withoutTime(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, inner: unknown) => (key === 'updatedAt' ? undefined : inner)));
}

/** The first difference of two values. */
function difference(a: unknown, b: unknown, path = ''): string {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return ` at ${path || 'the root'}: baseline ${JSON.stringify(a)}, gateway ${JSON.stringify(b)}`;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  const key = [...new Set([...left.keys(), ...right.keys()])].find(
    (name) => !isDeepStrictEqual(left.get(name), right.get(name)),
  );
  return key === undefined ? ` at ${path}` : difference(left.get(key), right.get(key), path ? `${path}.${key}` : key);
}
