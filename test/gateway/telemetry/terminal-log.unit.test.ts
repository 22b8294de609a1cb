import { expect, test } from 'vitest';
import { createLineFormat } from '../../../src/gateway/telemetry/terminal-log.ts';

const format = createLineFormat({ hasColors: false });
const time = new Date(2026, 2, 1, 9, 5, 7).getTime();
const line = (fields: object) => format(JSON.stringify({ level: 30, time, pid: 1, hostname: 'here', ...fields }));
const request = {
  msg: 'request',
  requestId: 'r1',
  method: 'GET',
  path: '/v1/sessions',
  api: 'rest',
  operation: 'listSessions',
  ms: 4.236,
  keyId: 'k1',
};

test('a request is shown with its method, path, status, duration and operation; a refused one also with its id', () => {
  expect(line({ ...request, status: 200 })).toBe(
    '09:05:07 info  GET    /v1/sessions 200 4.2 ms operation=listSessions\n',
  );
  expect(line({ ...request, status: 404, ms: 41.7 })).toBe(
    '09:05:07 info  GET    /v1/sessions 404 42 ms operation=listSessions requestId=r1\n',
  );
});

test('any other entry is shown with its message and its fields', () => {
  expect(line({ msg: 'job done', queue: 'event-purge', jobId: undefined, data: { a: 1 } })).toBe(
    '09:05:07 info  job done queue=event-purge data={ a: 1 }\n',
  );
  expect(line({ level: 40, msg: 'not ready', err: { message: 'away', stack: 'Error: away\n    at x' } })).toBe(
    '09:05:07 warn  not ready: away\n',
  );
});

test('an error is shown with its stack', () => {
  expect(
    line({ level: 50, msg: 'internal error', err: { message: 'oh', stack: 'Error: oh\n    at x\n    at y' } }),
  ).toBe('09:05:07 error internal error: oh\n    at x\n    at y\n');
});

test('text of callers cannot control the terminal or begin a new line', () => {
  const hostile = 'a\n12:00:00 fatal forged\u001b[31m\u009b\u202e\u2028b';
  const shown = line({ msg: 'x', text: hostile, err: { message: hostile } });
  expect(shown.split('\n')).toHaveLength(2);
  expect(shown.slice(0, -1)).toMatch(/^[\x20-\x7e]+$/);
});

test('colors are used only if the terminal supports them', () => {
  const colored = createLineFormat({ hasColors: true })(JSON.stringify({ level: 40, time, msg: 'careful' }));
  expect(colored).toBe('\u001b[2m09:05:07\u001b[0m \u001b[33mwarn \u001b[0m careful\n');
});
