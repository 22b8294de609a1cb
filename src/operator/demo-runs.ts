import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { PlannedSession } from './demo-plan.ts';

/** Recorded runs of agents, which the sessions of the demo workspace repeat. */

const line = z.object({
  run: z.string(),
  afterMs: z.number(),
  event: z.object({
    eventType: z.string(),
    provider: z.string().optional(),
    eventData: z.looseObject({
      type: z.string(),
      usage: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    }),
  }),
});
type Line = z.output<typeof line>;
type Runs = ReadonlyMap<string, readonly Line[]>;

export async function readRuns(): Promise<Runs> {
  const text = await readFile(join(import.meta.dirname, 'demo-runs.ndjson'), 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((each) => line.parse(JSON.parse(each)));
  return Map.groupBy(lines, ({ run }) => run);
}

/** A run as it is sent to a session, with its times and amounts. */
export interface RepeatedRun {
  readonly events: readonly (Line['event'] & { readonly createdAt: string })[];
  readonly endedAt: Date;
}

/** A session that has not completed ends before the last steps of its run. */
const KEPT = { completed: 1, failed: 0.7, cancelled: 0.5, inProgress: 0.6, queued: 0 } as const;

export function repeatRun(runs: Runs, { run, startedAt, state, factor }: PlannedSession): RepeatedRun {
  const all = runs.get(run) ?? [];
  const lines = all.slice(0, Math.ceil(all.length * KEPT[state]));
  const at = (afterMs: number) => new Date(startedAt.getTime() + afterMs * (state === 'inProgress' ? 1 : factor));
  const events = lines.map(({ afterMs, event }) => ({
    ...event,
    createdAt: at(afterMs).toISOString(),
    eventData: scaled(event.eventData, factor),
  }));
  const endedAt = at((lines.at(-1)?.afterMs ?? 0) + 1000);
  return { events: state === 'failed' ? [...events, failure(endedAt)] : events, endedAt };
}

function failure(at: Date): RepeatedRun['events'][number] {
  const eventData = {
    type: 'runner_error',
    source: 'runner',
    message: 'The agent has stopped: the limit of its provider is reached.',
  };
  return { eventType: 'session', createdAt: at.toISOString(), eventData };
}

function scaled({ usage, ...data }: Line['event']['eventData'], factor: number): Line['event']['eventData'] {
  if (!usage) return data;
  const amounts = Object.entries(usage).map(([name, amount]) => {
    if (typeof amount === 'string' || name === 'turns') return [name, amount];
    return [name, name === 'costUsd' ? Math.round(amount * factor * 10_000) / 10_000 : Math.round(amount * factor)];
  });
  return { ...data, usage: Object.fromEntries(amounts) };
}
