import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { requireOrganization } from '../core/access.ts';
import type { ProjectId, SessionId } from '../core/ids.ts';
import { parseInput } from '../core/input/validation.ts';
import type { OperationContext } from '../core/operation.ts';
import { DAY_MS } from '../core/text/timestamps.ts';
import {
  appendSessionEvents,
  appendSessionEventsInput,
  importSessionEvents,
} from '../domains/session-events/public.ts';
import {
  type PastEnd,
  type PastProject,
  type SessionState,
  createSession,
  createSessionInput,
  endPastSessions,
  insertPastSessions,
  recordArtifact,
  recordPullRequest,
  recordPullRequestInput,
  transitionSession,
} from '../domains/sessions/public.ts';
import DEMO from './demo.json' with { type: 'json' };

/** Creates the context of a person at a time. */
export type ContextAt = (person: number, at: Date) => OperationContext;

const DAYS = 30;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const PROJECTS = [
  { name: 'Shop', icon: 'bug', color: 'teal' },
  { name: 'Billing', icon: 'database', color: 'purple' },
  { name: 'Website', icon: 'globe', color: 'orange' },
] as const;
/** The days of a week, Sunday first. */
const SESSIONS_OF_DAY = [3, 8, 9, 8, 9, 7, 3];
/** The last sessions of today. The others end as chance decides. */
const LAST_STATES: readonly SessionState[] = ['queued', 'inProgress', 'inProgress'];
/** A session that has not completed ends before the last steps of its run. */
const KEPT = { completed: 1, failed: 0.7, cancelled: 0.5, inProgress: 0.6, queued: 0 } as const;
/** Sessions that are recorded at the same time, which is faster than one after the other. */
const AT_ONCE = 4;

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

interface PlannedSession {
  readonly title: string;
  readonly agent: string;
  readonly project: string;
  /** The recorded run that it repeats. */
  readonly run: string;
  /** Index of the person who has started it. */
  readonly person: number;
  readonly startedAt: Date;
  readonly state: SessionState;
  /** How much more the session uses than the recorded run. */
  readonly factor: number;
}

/** Creates the sessions of a month, and then a waiting, a failed and a running one. A runner could continue the last one. */
export async function createDemoSessions(contextAt: ContextAt, now: Date, people: number): Promise<void> {
  const { newId } = contextAt(0, now);
  const planned = planSessions(now, people);
  const createdAt = planned[0]?.startedAt ?? now;
  const projects = PROJECTS.map((project) => ({ ...project, id: newId(), createdAt }));
  await recordPast(contextAt(0, now), contextAt, { planned, projects });
  const minutesAgo = (minutes: number) => contextAt(0, new Date(now.getTime() - minutes * MINUTE_MS));
  await createLatest(minutesAgo, projects[0]?.id);
}

/** The sessions of a month until now, oldest first. They are the same each time, except for their days. */
function planSessions(now: Date, people: number): PlannedSession[] {
  const chance = numbers();
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)] as Item;
  const pickAgent = () => {
    let left = chance() * 100;
    return DEMO.agents.find(({ share }) => (left -= share) < 0) ?? pick(DEMO.agents);
  };
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const planned = Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(today - (DAYS - 1 - index) * DAY_MS);
    return Array.from({ length: SESSIONS_OF_DAY[day.getUTCDay()] ?? 0 }, (): PlannedSession => {
      const { agent, run, titles, projects, failures } = pickAgent();
      const fate = chance() * 100;
      return {
        title: pick(titles),
        agent,
        run,
        project: pick(projects),
        person: Math.floor(chance() ** 2 * people),
        startedAt: new Date(Math.min(day.getTime() + (7 + chance() * 11) * HOUR_MS, now.getTime() - HOUR_MS)),
        state: fate < failures ? 'failed' : fate > 96 ? 'cancelled' : 'completed',
        factor: 0.4 + 4 * chance() ** 3,
      };
    });
  }).flat();
  planned.sort((one, other) => one.startedAt.getTime() - other.startedAt.getTime());
  // Some sessions have not ended yet, and one has failed in the last day, whatever chance decides.
  const failed = planned.findIndex(({ startedAt }) => now.getTime() - startedAt.getTime() < DAY_MS + 4 * HOUR_MS);
  return planned.map((session, index) => {
    const left = planned.length - index;
    const state = LAST_STATES.at(-left);
    if (state) return { ...session, state, startedAt: new Date(now.getTime() - left * 4 * MINUTE_MS) };
    return index === failed ? { ...session, state: 'failed' } : session;
  });
}

/** Numbers from 0 to 1 that look random, and are the same each time. */
function numbers(): () => number {
  let state = 20_251;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

interface Past {
  readonly planned: readonly PlannedSession[];
  readonly projects: readonly PastProject[];
}

async function recordPast({ em, actor }: OperationContext, contextAt: ContextAt, past: Past): Promise<void> {
  const organization = requireOrganization(actor).id;
  const lines = (await readFile(join(import.meta.dirname, 'demo-runs.ndjson'), 'utf8')).trim().split('\n');
  const runs = Map.groupBy(
    lines.map((each) => line.parse(JSON.parse(each))),
    ({ run }) => run,
  );
  const sessions = past.planned.map(({ person, startedAt, title, agent, project, state }) => ({
    context: contextAt(person, startedAt),
    title,
    agent,
    projectId: past.projects.find(({ name }) => name === project)?.id ?? null,
    isWaiting: state === 'queued',
  }));
  const ids = await em
    .fork()
    .transactional((inner) => insertPastSessions(inner, organization, { projects: past.projects, sessions }));
  const ends: PastEnd[] = [];
  const left = past.planned.entries();
  const append = async () => {
    for (const [index, session] of left) {
      const sessionId = ids[index];
      if (sessionId === undefined || session.state === 'queued') continue;
      const { events, endedAt } = repeated(session, runs.get(session.run) ?? []);
      const input = parseInput(appendSessionEventsInput, { sessionId, events });
      await appendSessionEvents(contextAt(session.person, endedAt), input);
      ends.push({ id: sessionId, state: session.state, at: endedAt });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, append));
  await em.fork().transactional((inner) => endPastSessions(inner, organization, ends));
}

/** The events of a run as a session repeats it, with its times and amounts. */
function repeated({ startedAt, state, factor }: PlannedSession, lines: readonly Line[]) {
  const kept = lines.slice(0, Math.ceil(lines.length * KEPT[state]));
  const at = (afterMs: number) => new Date(startedAt.getTime() + afterMs * (state === 'inProgress' ? 1 : factor));
  const endedAt = at((kept.at(-1)?.afterMs ?? 0) + 1000);
  const events = kept.map(({ afterMs, event }) => ({
    ...event,
    createdAt: at(afterMs).toISOString(),
    eventData: scaled(event.eventData, factor),
  }));
  if (state === 'failed')
    events.push({ eventType: 'session', createdAt: endedAt.toISOString(), eventData: DEMO.failure });
  return { events, endedAt };
}

function scaled({ usage, ...data }: Line['event']['eventData'], factor: number): Line['event']['eventData'] {
  if (!usage) return data;
  const amounts = Object.entries(usage).map(([name, amount]) => {
    if (typeof amount === 'string' || name === 'turns') return [name, amount];
    return [name, name === 'costUsd' ? Math.round(amount * factor * 10_000) / 10_000 : Math.round(amount * factor)];
  });
  return { ...data, usage: Object.fromEntries(amounts) };
}

async function createLatest(minutesAgo: (minutes: number) => OperationContext, projectId?: ProjectId): Promise<void> {
  const { waiting, failed, running, pullRequest } = DEMO;
  await createSession(minutesAgo(3), createSessionInput.parse({ ...waiting, projectId }));
  const sessionId = await createRecorded(minutesAgo(2), { ...failed, projectId }, 'demo-failed-session.ndjson');
  await transitionSession(minutesAgo(2), { sessionId, state: 'failed' });
  const context = minutesAgo(1);
  const repository = { ...DEMO.repository, id: context.newId() };
  const source = { name: 'Command line', type: 'cli', repositories: [repository] };
  const runningId = await createRecorded(context, { ...running, projectId, source }, 'demo-session.ndjson');
  const { id: artifactId } = await recordArtifact(context, { sessionId: runningId, type: 'PullRequest' });
  const codeRepository = { ...repository, owner: 'acme', baseBranch: 'main' };
  await recordPullRequest(context, recordPullRequestInput.parse({ ...pullRequest, artifactId, codeRepository }));
}

/** @param file a recorded run beside this module, without times, so that its events get the time of the import */
async function createRecorded(context: OperationContext, session: object, file: string): Promise<SessionId> {
  const { id } = await createSession(context, createSessionInput.parse(session));
  await transitionSession(context, { sessionId: id, state: 'inProgress' });
  await importSessionEvents(context, { sessionId: id, source: createReadStream(join(import.meta.dirname, file)) });
  return id;
}
