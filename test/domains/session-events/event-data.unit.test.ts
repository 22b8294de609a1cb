import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../../src/core/input/validation.ts';
import { MAX_EVENT_BYTES, eventData, recordedEvent } from '../../../src/domains/session-events/event-data.ts';
import { parseExactJson } from '../../../src/core/text/exact-json.ts';

const MESSAGE_ID = '3f2a8c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b';

/** Every documented field and an unknown field at each level, in a different order than documented. */
const documented = {
  zeta: { kept: [1, null, 'x'] },
  snapshotCreatedAt: 'yesterday',
  snapshotId: 'snap_1',
  toolResult: { error: 'none', exitCode: -1, unknown: 0, output: '', status: 'running' },
  toolName: 'Bash',
  responsePhase: 'final_answer',
  deltaType: 'input_json_delta',
  accumulatedText: 'größer 🙂',
  sequenceNumber: 7,
  itemId: 'item_1',
  index: 0,
  event: { messageId: null, provider: 'anthropic', message: '', event: 'content_block_delta', unknown: {} },
  delivery: 'persist',
  providerEvent: true,
  source: 'agent',
  scope: { unknown: true, taskId: 'task_1', parentToolUseId: 'toolu_1', kind: 'subagent' },
  type: 'stream_event',
  alpha: false,
};

const input = z.strictObject({ events: z.array(recordedEvent).min(1).max(1000) });
const recorded = (data: unknown, fields: object = {}) => ({
  eventType: 'stream_event',
  provider: 'anthropic',
  eventData: data,
  ...fields,
});
const json = (text: string): unknown => JSON.parse(text);

function messageOf(...events: unknown[]): string {
  try {
    parseInput(input, { events });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'accepted';
}

const faultOf = (data: unknown) => messageOf(recorded(data)).replaceAll('events.0.eventData', 'data');

describe('event data', () => {
  test('is stored byte for byte, including unknown fields and their order', () => {
    const parsed = parseInput(recordedEvent, recorded(json(JSON.stringify(documented)))).eventData;
    expect(parsed).toBe(JSON.stringify(documented));
  });

  test('requires only its type, and accepts null for every other field', () => {
    const nulls = Object.fromEntries(Object.keys(documented).map((field) => [field, null]));
    expect(parseInput(eventData, { type: 'x' }).json).toBe('{"type":"x"}');
    expect(parseInput(eventData, { ...nulls, type: 'x' }).json).toBe(JSON.stringify({ ...nulls, type: 'x' }));
    const inner = {
      scope: { kind: 'background', taskId: null },
      event: { event: '', message: '', messageId: null },
      toolResult: { status: 'error', exitCode: null },
    };
    expect(parseInput(eventData, { type: 'x', ...inner }).json).toBe(JSON.stringify({ type: 'x', ...inner }));
  });

  test.each(['scope.kind', 'delivery', 'deltaType', 'responsePhase', 'toolResult.status'])(
    '%s accepts any text, because providers add values, and nothing but text',
    (path) => {
      const dataOf = (value: unknown) => ({
        type: 'x',
        ...path
          .split('.')
          .reduceRight<object>((inner, field) => ({ [field]: Object.keys(inner).length > 0 ? inner : value }), {}),
      });
      for (const value of ['foreground', 'a value of tomorrow', '', 'x'.repeat(10_000)])
        expect(parseInput(eventData, dataOf(value)).json).toBe(JSON.stringify(dataOf(value)));
      for (const value of [1, ['a'], true]) expect(faultOf(dataOf(value))).toBe(`data.${path}: must be a string`);
    },
  );

  test.each([
    [null, 'data: must be an object'],
    [[], 'data: must be an object'],
    ['{}', 'data: must be an object'],
    [undefined, 'data: is required'],
    [{}, 'data.type: is required'],
    [{ type: null }, 'data.type: must be a string'],
    [{ type: '' }, 'data.type: must not be empty'],
    [{ type: 'x', scope: {} }, 'data.scope.kind: is required'],
    [{ type: 'x', scope: [] }, 'data.scope: must be an object'],
    [{ type: 'x', event: {} }, 'data.event.event: is required; data.event.message: is required'],
    [{ type: 'x', event: { event: 'a', message: null } }, 'data.event.message: must be a string'],
    [{ type: 'x', toolResult: {} }, 'data.toolResult.status: is required'],
    [
      { type: 'x', toolResult: { status: 'error', exitCode: 1.5 } },
      'data.toolResult.exitCode: must be an integer of at most 64 bits',
    ],
    [{ type: 'x', index: '1' }, 'data.index: must be an integer of at most 64 bits'],
    [{ type: 'x', sequenceNumber: 2 ** 64 }, 'data.sequenceNumber: must be an integer of at most 64 bits'],
    [{ type: 'x', sequenceNumber: 1e300 }, 'data.sequenceNumber: must be an integer of at most 64 bits'],
    [{ type: 'x', providerEvent: 'true' }, 'data.providerEvent: must be a boolean'],
    [
      { type: 'x', accumulatedText: 5, snapshotId: {} },
      'data.accumulatedText: must be a string; data.snapshotId: must be a string',
    ],
  ])('%j is refused with path and rule', (data, message) => {
    expect(faultOf(data)).toBe(message);
  });

  test('has at most 1 MiB as JSON in UTF-8, whatever characters it contains', () => {
    for (const [character, bytes] of [
      ['a', 1],
      ['"', 2],
      ['\u0001', 6],
      ['é', 2],
      ['€', 3],
      ['🙂', 4],
    ] as const) {
      const room = MAX_EVENT_BYTES - Buffer.byteLength('{"type":"x","text":""}');
      const text = character.repeat(Math.floor(room / bytes)) + 'a'.repeat(room % bytes);
      expect(faultOf({ type: 'x', text })).toBe('accepted');
      expect(faultOf({ type: 'x', text: `${text}a` })).toBe(
        'data: must be at most 1048576 bytes (1 MiB) as JSON in UTF-8',
      );
    }
    expect(faultOf({ type: 'x', list: Array.from({ length: 600_000 }, () => 1) })).toMatch(
      /must be at most 1048576 bytes/,
    );
    expect(faultOf({ type: 'x', ['k'.repeat(MAX_EVENT_BYTES)]: 1 })).toMatch(/must be at most 1048576 bytes/);
  });

  test('is not validated if its names and items alone are larger', () => {
    const largest = Array.from({ length: (MAX_EVENT_BYTES - 20) / 2 }, () => 1);
    expect(faultOf({ type: 'x', a: largest })).toBe('accepted');
    const tooLarge = 'data: must be at most 1048576 bytes (1 MiB) as JSON in UTF-8';
    expect(faultOf({ type: 1, a: largest })).toBe('data.type: must be a string');
    expect(faultOf({ type: 1, a: [...largest, ...largest] })).toBe(tooLarge);
    const names = Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`name${at}`, 1]));
    expect(faultOf({ type: 1, a: names })).toBe(tooLarge);
  });

  test('is nested at most 100 levels deep, and 100,000 levels do not overflow the stack', () => {
    const listOf = (levels: number) => json(`{"type":"x","list":${'['.repeat(levels)}${']'.repeat(levels)}}`);
    expect(faultOf(listOf(99))).toBe('accepted');
    const rule = `data.list${'.0'.repeat(99)}: must not be nested deeper than 100 levels`;
    for (const levels of [100, 1_000, 100_000]) expect(faultOf(listOf(levels))).toBe(rule);
    const objects = json(
      `{"type":"x","scope":${'{"kind":"subagent","scope":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
    );
    expect(faultOf(objects)).toBe(`data${'.scope'.repeat(100)}: must not be nested deeper than 100 levels`);
  });

  test.each(['\0', '\ud800', '\udc00'])(
    'what PostgreSQL cannot store in a text, such as %j, is replaced at every depth and in names, and counted by text',
    (text) => {
      const repaired = (data: object) => parseInput(eventData, data);
      expect(repaired({ type: `${text}a${text}`, b: [{ c: `a${text}` }], d: '\\u0000' })).toEqual({
        json: JSON.stringify({ type: '\ufffda\ufffd', b: [{ c: 'a\ufffd' }], d: '\\u0000' }),
        repairedTexts: 2,
      });
      expect(repaired({ type: 'x', a: { [text]: 1, '\ufffd': 2 } })).toEqual({
        json: JSON.stringify({ type: 'x', a: { '\ufffd': 1, '\ufffd\ufffd': 2 } }),
        repairedTexts: 1,
      });
      const { repairedTexts, ...event } = parseInput(
        recordedEvent,
        recorded({ type: 'x' }, { eventType: text, provider: `a${text}` }),
      );
      expect([repairedTexts, event]).toMatchObject([2, { eventType: '\ufffd', provider: 'a\ufffd' }]);
    },
  );

  test('integers have at most 64 bits, and are stored as they came', () => {
    for (const integer of ['-9223372036854775808', '9007199254740993', '18446744073709551615', '3221225477', '0']) {
      const text = `{"type":"x","index":${integer},"toolResult":{"status":"error","exitCode":${integer}}}`;
      expect(parseInput(eventData, parseExactJson(text)).json).toBe(text);
    }
    for (const integer of ['-9223372036854775809', '18446744073709551616', '1e400', '0.12345678901234567'])
      expect(faultOf(parseExactJson(`{"type":"x","index":${integer}}`))).toBe(
        'data.index: must be an integer of at most 64 bits',
      );
  });

  test('__proto__ is refused at every depth and changes no prototype', () => {
    expect(faultOf(json('{"type":"x","__proto__":{"a":1}}'))).toBe('data.__proto__: is not an allowed property name');
    expect(faultOf(json('{"type":"x","a":[{"b":{"__proto__":1}}]}'))).toBe(
      'data.a.0.b.__proto__: is not an allowed property name',
    );
    expect(faultOf(json('{"type":"x","scope":{"kind":"subagent","__proto__":1}}'))).toBe(
      'data.scope.__proto__: is not an allowed property name',
    );
    expect(messageOf(json('{"eventType":"x","provider":"y","eventData":{"type":"x"},"__proto__":{"a":1}}'))).toBe(
      'events.0.__proto__: is not a known property',
    );
    expect(faultOf({ type: 'x', constructor: { prototype: 1 } })).toBe('accepted');
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test('values that JSON cannot represent are refused', () => {
    expect(faultOf(json('{"type":"x","a":[1e999]}'))).toBe('data.a.0: must be a finite number');
    expect(faultOf({ type: 'x', a: 1n })).toBe('data.a: must be JSON');
    expect(faultOf({ type: 'x', a: undefined })).toBe('data.a: must be JSON');
  });

  test.each([
    [{ type: 'x', text: 'a'.repeat(MAX_EVENT_BYTES) }, 'TOO_LONG', MAX_EVENT_BYTES],
    [json(`{"type":"x","list":${'['.repeat(100)}${']'.repeat(100)}}`), 'TOO_MANY', 100],
    [{ type: 'x', a: 1n }, 'WRONG_TYPE', undefined],
    [json('{"type":"x","a":1e999}'), 'NOT_ALLOWED', undefined],
    [json('{"type":"x","__proto__":1}'), 'NOT_ALLOWED', undefined],
  ])('each fault has its code, and the limit that is exceeded (%#)', (data, code, limit) => {
    expect(() => parseInput(eventData, data)).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ code, limit })] }),
    );
  });

  test('is stored unchanged with any JSON in addition to the documented fields', () => {
    const storable = (text: string) => !text.includes('\0') && text.isWellFormed() && text !== '__proto__';
    const text = fc.string({ unit: 'grapheme' }).filter(storable);
    const anything = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 5 },
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('json'), { maxLength: 4 }),
        fc.dictionary(text, tie('json'), { maxKeys: 4 }),
      ),
    })).json;
    fc.assert(
      fc.property(
        fc.dictionary(
          text.filter((key) => !(key in documented)),
          anything,
          { maxKeys: 5 },
        ),
        (more) => {
          const recordedText = JSON.stringify({ ...more, ...documented });
          expect(parseInput(eventData, json(recordedText)).json).toBe(recordedText);
        },
      ),
    );
  });
});

describe('a recorded event', () => {
  test('gets default values, and its time in UTC with milliseconds', () => {
    const data = { type: 'x' };
    expect(parseInput(recordedEvent, recorded(data))).toEqual({
      eventType: 'stream_event',
      messageId: null,
      provider: 'anthropic',
      createdAt: null,
      eventData: JSON.stringify(data),
      repairedTexts: 0,
    });
    const given = { messageId: MESSAGE_ID, createdAt: '2026-03-01T10:20:30.123456+02:00' };
    expect(parseInput(recordedEvent, recorded(data, given))).toEqual({
      eventType: 'stream_event',
      messageId: MESSAGE_ID,
      provider: 'anthropic',
      createdAt: '2026-03-01T08:20:30.123Z',
      eventData: JSON.stringify(data),
      repairedTexts: 0,
    });
    const timeOf = (createdAt: string) => parseInput(recordedEvent, recorded(data, { createdAt })).createdAt;
    expect(
      ['2026-03-01T08:20:30Z', '2026-03-01T08:20:30.5Z', '2026-03-01T08:20:30.123456Z', '2026-03-01T08:20:30.123Z'].map(
        timeOf,
      ),
    ).toEqual([
      '2026-03-01T08:20:30.000Z',
      '2026-03-01T08:20:30.500Z',
      '2026-03-01T08:20:30.123Z',
      '2026-03-01T08:20:30.123Z',
    ]);
    expect(parseInput(recordedEvent, recorded(data, { messageId: null, createdAt: null }))).toEqual(
      parseInput(recordedEvent, recorded(data)),
    );
  });

  test.each([
    'anthropic',
    'openai',
    'openai_responses',
    'openai_completions',
    'x',
    'its own provider',
    'p'.repeat(100),
  ])('accepts the provider %s', (provider) => {
    expect(messageOf(recorded({ type: 'x' }, { provider }))).toBe('accepted');
  });

  const DATE_RULE = 'must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z';
  test.each<[object, string]>([
    [{ eventType: '' }, 'eventType: must not be empty'],
    [{ eventType: 'x'.repeat(101) }, 'eventType: must be at most 100 characters'],
    [{ eventType: null }, 'eventType: must be a string'],
    [{ provider: '' }, 'provider: must not be empty'],
    [{ provider: 'x'.repeat(101) }, 'provider: must be at most 100 characters'],
    [{ eventType: undefined }, 'eventType: is required'],
    [{ messageId: 'x' }, 'messageId: must be a UUID'],
    [{ messageId: '' }, 'messageId: must be a UUID'],
    [{ id: 5 }, 'id: is not a known property'],
    [{ sessionId: MESSAGE_ID }, 'sessionId: is not a known property'],
    [{ createdAt: '2026-03-01' }, `createdAt: ${DATE_RULE}`],
    [{ createdAt: '2026-03-01T10:20:30' }, `createdAt: ${DATE_RULE}`],
    [{ createdAt: '2026-02-30T10:20:30Z' }, `createdAt: ${DATE_RULE}`],
    [
      { createdAt: 1772360430500 },
      'createdAt: must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z',
    ],
    [{ createdAt: '0000-01-01T00:00:00.000Z' }, 'createdAt: must be between the years 1970 and 9999'],
    [{ createdAt: '1969-12-31T23:59:59.999Z' }, 'createdAt: must be between the years 1970 and 9999'],
    [{ createdAt: '9999-12-31T23:59:59-23:59' }, 'createdAt: must be between the years 1970 and 9999'],
  ])('with %j is refused with path and rule', (fields, message) => {
    expect(messageOf(recorded({ type: 'x' }, fields))).toBe(`events.0.${message}`);
  });

  test('is reported with its index in the batch, and with all its faults', () => {
    expect(
      messageOf(recorded({ type: 'x' }), recorded({ type: 'x', delivery: 1 }, { eventType: '', extra: 1 }))
        .split('; ')
        .toSorted(),
    ).toEqual([
      'events.1.eventData.delivery: must be a string',
      'events.1.eventType: must not be empty',
      'events.1.extra: is not a known property',
    ]);
  });
});
