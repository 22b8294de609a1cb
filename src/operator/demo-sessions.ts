import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProjectId } from '../core/ids.ts';
import { parseInput } from '../core/input/validation.ts';
import type { OperationContext } from '../core/operation.ts';
import { DAY_MS } from '../core/text/timestamps.ts';
import { type FormatName, appendSessionLines, appendSessionLinesInput } from '../domains/session-events/public.ts';
import {
  type SessionState,
  createSession,
  createSessionInput,
  ensureSession,
  ensureSessionInput,
  recordArtifact,
  recordPullRequest,
  recordPullRequestInput,
  transitionSession,
} from '../domains/sessions/public.ts';

/** Creates the context of a person at a time. */
export type ContextAt = (person: number, at: Date) => OperationContext;

interface Agent {
  readonly agent: string;
  readonly format: FormatName;
  /** The percentage of all sessions that are its own, and of its own that fail. */
  readonly share: number;
  readonly failures: number;
  readonly projects: readonly string[];
  readonly titles: readonly string[];
}

const read = (name: string): string[] =>
  readFileSync(join(import.meta.dirname, `demo-lines/${name}.ndjson`), 'utf8').match(/.+/g) ?? [];

interface Planned extends Pick<Agent, 'agent' | 'format'> {
  readonly title: string;
  readonly project: string;
  /** Index of the person who has started it. */
  readonly person: number;
  readonly state: SessionState;
  /** How much longer it takes, and how much more it uses, than the recorded run. */
  readonly factor: number;
  /** The run that it repeats as a whole; without it, that of its agent. */
  readonly run?: string;
  readonly startedAt: Date;
  /** Of a session that has not ended. */
  readonly details?: object;
  readonly pullRequest?: object;
}

/** On each day of a month, the days before it have a last month. */
const DAYS = 60;
/** The days of a week, Sunday first. */
const SESSIONS_OF_DAY = [1, 3, 3, 3, 3, 3, 1];
const MINUTE_MS = 60_000;
/** A session that has not completed ends before the last lines of its run. */
const KEPT = { completed: 1, failed: 0.7, cancelled: 0.5, inProgress: 0.55, queued: 0 } as const;
/** Sessions that are recorded at the same time, which is faster than one after the other. */
const AT_ONCE = 4;

/** Records the sessions of 60 days, and then those of now: some wait, one has failed, the others run. */
export async function createDemoSessions(contextAt: ContextAt, now: Date, people: number): Promise<void> {
  const projects = new Map<string, ProjectId | null>();
  const left = planSessions(now, people).values();
  const recordAll = async () => {
    for (const planned of left) await record(contextAt, planned, projects);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, recordAll));
  for (const line of read('now')) {
    const { minutesAgo, ...story } = JSON.parse(line) as Omit<Planned, 'startedAt'> & { readonly minutesAgo: number };
    await record(contextAt, { ...story, startedAt: new Date(now.getTime() - minutesAgo * MINUTE_MS) }, projects);
  }
}

/** The sessions until an hour ago, oldest first. They are the same each time, except for their days. */
function planSessions(now: Date, people: number): Planned[] {
  let state = 20_251;
  const chance = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)] as Item;
  const agents = read('agents').map((line) => JSON.parse(line) as Agent);
  const pickAgent = () => {
    let left = chance() * 100;
    return agents.find(({ share }) => (left -= share) < 0) ?? pick(agents);
  };
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const planned = Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(today - (DAYS - 1 - index) * DAY_MS);
    return Array.from({ length: SESSIONS_OF_DAY[day.getUTCDay()] ?? 0 }, (): Planned => {
      const { agent, format, titles, projects, failures } = pickAgent();
      const fate = chance() * 100;
      return {
        title: pick(titles),
        agent,
        format,
        project: pick(projects),
        person: Math.floor(chance() ** 2 * people),
        startedAt: new Date(day.getTime() + Math.round((7 + chance() * 11) * 60) * MINUTE_MS),
        state: fate < failures ? 'failed' : fate > 94 ? 'cancelled' : 'completed',
        factor: 0.4 + 4 * chance() ** 3,
      };
    });
  }).flat();
  const past = planned.filter(({ startedAt }) => now.getTime() - startedAt.getTime() > 60 * MINUTE_MS);
  return past.toSorted((one, other) => one.startedAt.getTime() - other.startedAt.getTime());
}

/** Records a session as the recorder does. One that has not ended has no transcript, which would be completed after a while. */
async function record(contextAt: ContextAt, planned: Planned, projects: Map<string, ProjectId | null>): Promise<void> {
  const { title, agent, format, project, person, startedAt, state, details, pullRequest } = planned;
  const begun = contextAt(person, startedAt);
  const sourceId = begun.newId();
  const given = { title, agent, visibility: 'public' };
  const isOpen = state === 'queued' || state === 'inProgress';
  const { id: sessionId, projectId } = isOpen
    ? await createSession(begun, createSessionInput.parse({ ...given, ...details, projectId: projects.get(project) }))
    : (await ensureSession(begun, parseInput(ensureSessionInput, { ...given, sourceId, project }))).session;
  projects.set(project, projectId ?? null);
  if (state === 'queued') return;
  await transitionSession(begun, { sessionId, state: 'inProgress' });
  const { text, endedAt } = linesOf(planned, sourceId);
  const ended = contextAt(person, endedAt);
  const file = isOpen ? undefined : { file: `${sourceId}.jsonl`, fromLine: 1 };
  await appendSessionLines(ended, parseInput(appendSessionLinesInput, { sessionId, format, text, ...file }));
  if (!isOpen) await transitionSession(ended, { sessionId, state });
  if (!pullRequest) return;
  const { id: artifactId } = await recordArtifact(ended, { sessionId, type: 'PullRequest' });
  await recordPullRequest(ended, parseInput(recordPullRequestInput, { ...pullRequest, artifactId }));
}

/** The lines of a run as the session repeats it, with its title, times and amounts. The recorded runs begin on 2026-01-01. */
function linesOf({ agent, run, title, startedAt, state, factor }: Planned, sourceId: string) {
  const all = read(run ?? agent);
  // The last line is that of a failure.
  const cut = all.slice(0, Math.ceil((all.length - 1) * KEPT[state])).concat(state === 'failed' ? all.slice(-1) : []);
  let endedAt = startedAt;
  const repeat = (_: string, value: unknown): unknown => {
    if (typeof value === 'number') return Number.isInteger(value) ? Math.round(value * factor) : value * factor;
    if (typeof value !== 'string') return value;
    if (!value.startsWith('2026-01-01T')) return value.replace('TITLE', title).replace(/^msg_/, `msg_${sourceId}_`);
    endedAt = new Date(startedAt.getTime() + (Date.parse(value) - Date.UTC(2026, 0, 1)) * factor);
    return endedAt.toISOString();
  };
  const lines = (run === undefined ? cut : all).map((line) => JSON.stringify(JSON.parse(line, repeat)));
  return { text: lines.join('\n'), endedAt };
}
