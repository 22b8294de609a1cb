import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseArguments } from '../../docs/examples/make-agent-run.ts';
import { type AgentEvent, agentRun } from '../support/agent-run.ts';
import { parseInput } from '../../src/core/input/validation.ts';
import {
  DELIVERIES,
  DELTA_TYPES,
  type EventData,
  RESPONSE_PHASES,
  SCOPE_KINDS,
  TOOL_RESULT_STATUSES,
  recordedEvent,
} from '../../src/domains/session-events/event-data.ts';
import { NODE_ENVIRONMENT } from '../support/processes/programs.ts';
import { full } from '../support/proof.ts';

const script = fileURLToPath(new URL('../../docs/examples/make-agent-run.ts', import.meta.url));

async function print(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args], {
    env: { ...process.env, ...NODE_ENVIRONMENT },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

const dataOf = (event: AgentEvent) => JSON.parse(parseInput(recordedEvent, event).eventData) as EventData;

describe('the example run of an agent', () => {
  const run = [...agentRun(3000)];
  const data = run.map((event) => dataOf(event));

  test('is printed as 3000 lines, each of them a valid event, and is the same each time', async () => {
    const output = await print();
    const lines = output.trimEnd().split('\n');
    expect(lines).toHaveLength(3000);
    for (const line of lines) {
      const event: unknown = JSON.parse(line);
      const { eventData, repairedTexts, ...parsed } = parseInput(recordedEvent, event);
      expect([repairedTexts, { ...parsed, eventData: JSON.parse(eventData) as unknown }]).toEqual([0, event]);
    }
    expect(lines).toEqual(run.map((event) => JSON.stringify(event)));
    expect([...agentRun(3000, 1)]).toEqual(run);
    expect([...agentRun(3000, 2)]).not.toEqual(run);
  });

  test('has exactly the requested number of events and always a beginning and an end', () => {
    for (const count of [...Array.from({ length: full ? 500 : 100 }, (_, more) => 20 + more), 20_000]) {
      const events = [...agentRun(count)];
      const ends = [events[0], events.at(-4), events.at(-1)].map((event) => event?.eventData);
      expect([count, events.length]).toEqual([count, count]);
      expect(ends).toMatchObject([
        { type: 'session_started' },
        { deltaType: 'text_delta', responsePhase: 'final_answer' },
        { type: 'session_finished' },
      ]);
    }
  });

  test('has every value of every enumeration', () => {
    const shown = (values: readonly (string | null | undefined)[]) =>
      [...new Set(values)].filter((value) => value != null).toSorted();
    expect(shown(data.map(({ scope }) => scope?.kind))).toEqual(SCOPE_KINDS.toSorted());
    expect(shown(data.map(({ delivery }) => delivery))).toEqual(DELIVERIES.toSorted());
    expect(shown(data.map(({ deltaType }) => deltaType))).toEqual(DELTA_TYPES.toSorted());
    expect(shown(data.map(({ responsePhase }) => responsePhase))).toEqual(RESPONSE_PHASES.toSorted());
    expect(shown(data.map(({ toolResult }) => toolResult?.status))).toEqual(TOOL_RESULT_STATUSES.toSorted());
    expect(data.filter(({ snapshotId }) => snapshotId != null).length).toBeGreaterThan(1);
  });

  test('has increasing times, and numbers the events of each message', () => {
    const times = run.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...new Set(times)].toSorted());
    for (const events of Map.groupBy(
      run.filter(({ messageId }) => messageId !== null),
      ({ messageId }) => messageId,
    ).values()) {
      expect(events.map(({ eventData }) => eventData['sequenceNumber'])).toEqual(events.map((_, index) => index + 1));
    }
  });

  test('accumulates the deltas of each item; those of a tool make the JSON of its input', () => {
    const deltas = Map.groupBy(
      data.filter(({ deltaType }) => deltaType != null),
      ({ itemId }) => itemId,
    );
    const inputs: unknown[] = [];
    for (const events of deltas.values()) {
      let text = '';
      for (const { accumulatedText, event } of events) {
        const { delta }: { delta: string } = JSON.parse(event?.message ?? '{}');
        expect(delta.isWellFormed() && delta.length > 0).toBe(true);
        text += delta;
        expect(accumulatedText).toBe(text);
      }
      if (events[0]?.deltaType === 'input_json_delta') inputs.push(JSON.parse(text));
    }
    expect(inputs).toContainEqual({ command: 'npm test -- cart' });
  });

  test('begins and ends every tool call, and every subagent belongs to a running call', () => {
    const running = new Set<string>();
    const orphans: AgentEvent[] = [];
    for (const event of run) {
      const { scope, itemId, toolResult } = dataOf(event);
      if (scope?.kind === 'subagent' && !running.has(String(scope.parentToolUseId))) orphans.push(event);
      if (toolResult?.status === 'running') running.add(String(itemId));
      else if (toolResult && !running.delete(String(itemId))) orphans.push(event);
    }
    expect(orphans).toEqual([]);
    expect(running.size).toBe(0);
  });

  test('accepts a number of events and a seed, by default 3000 and 1, and refuses anything else', () => {
    expect([[], ['20'], ['100', '7']].map(parseArguments)).toEqual([
      { count: 3000, seed: 1 },
      { count: 20, seed: 1 },
      { count: 100, seed: 7 },
    ]);
    const refused = [['19'], ['many'], ['1e300'], ['100', 'x']];
    expect(refused.map(parseArguments)).toEqual(refused.map(() => undefined));
  });

  test('prints its usage if its arguments are invalid', async () => {
    await expect(print('100', 'x')).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'usage: node make-agent-run.ts [events, at least 20, default 3000] [seed, default 1]\n',
    });
  });
});
