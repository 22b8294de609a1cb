import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { ProjectId, SessionId } from '../core/ids.ts';
import type { OperationContext } from '../core/operation.ts';
import { requireOrganization } from '../core/access.ts';
import { parseInput } from '../core/input/validation.ts';
import {
  appendSessionEvents,
  appendSessionEventsInput,
  importSessionEvents,
} from '../domains/session-events/public.ts';
import {
  createSession,
  createSessionInput,
  type PastProject,
  endPastSessions,
  insertPastSessions,
  recordArtifact,
  recordPullRequest,
  recordPullRequestInput,
  transitionSession,
} from '../domains/sessions/public.ts';
import { PROJECTS, type PlannedSession, planSessions } from './demo-plan.ts';
import { readRuns, repeatRun } from './demo-runs.ts';

/** Creates the context of a person at a time. */
export type ContextAt = (person: number, at: Date) => OperationContext;

/** Appends that run at the same time, which is faster than one after the other. */
const AT_ONCE = 4;
const MINUTE_MS = 60_000;

/** Creates the sessions of a month, and then a waiting, a failed and a running one. A runner could continue the last one. */
export async function createDemoSessions(contextAt: ContextAt, now: Date, people: number): Promise<void> {
  const context = contextAt(0, now);
  const planned = planSessions(now, people);
  const createdAt = planned[0]?.startedAt ?? now;
  const projects = PROJECTS.map((project) => ({ ...project, id: context.newId(), createdAt }));
  await recordPast(contextAt, context, { planned, projects });
  const latest = (minutes: number) => contextAt(0, new Date(now.getTime() - minutes * MINUTE_MS));
  await createLatest(latest, projects[0]?.id ?? null);
}

interface Past {
  readonly planned: readonly PlannedSession[];
  readonly projects: readonly PastProject[];
}

async function recordPast(
  contextAt: ContextAt,
  { em, actor }: OperationContext,
  { planned, projects }: Past,
): Promise<void> {
  const organization = requireOrganization(actor).id;
  const runs = await readRuns();
  const sessions = planned.map(({ person, startedAt, title, agent, project, state }) => ({
    context: contextAt(person, startedAt),
    title,
    agent,
    projectId: projects.find(({ name }) => name === project.name)?.id ?? null,
    isWaiting: state === 'queued',
  }));
  const ids = await em.fork().transactional((inner) => insertPastSessions(inner, organization, { projects, sessions }));
  const repeated = planned.flatMap((session, index) => {
    const id = ids[index];
    return id === undefined || session.state === 'queued' ? [] : [{ ...session, ...repeatRun(runs, session), id }];
  });
  for (let start = 0; start < repeated.length; start += AT_ONCE)
    await Promise.all(
      repeated
        .slice(start, start + AT_ONCE)
        .map(({ id: sessionId, events, endedAt, person }) =>
          appendSessionEvents(contextAt(person, endedAt), parseInput(appendSessionEventsInput, { sessionId, events })),
        ),
    );
  const ends = repeated.map(({ id, state, endedAt: at }) => ({ id, state, at }));
  await em.fork().transactional((inner) => endPastSessions(inner, organization, ends));
}

async function createLatest(
  minutesAgo: (minutes: number) => OperationContext,
  projectId: ProjectId | null,
): Promise<void> {
  await createSession(minutesAgo(3), createSessionInput.parse({ ...WAITING, projectId }));
  const failed = await createRecordedSession(minutesAgo(2), { ...FAILED, projectId }, 'demo-failed-session.ndjson');
  await transitionSession(minutesAgo(2), { sessionId: failed, state: 'failed' });
  const context = minutesAgo(1);
  const repository = { id: context.newId(), name: 'shop', provider: 'github' };
  const source = { name: 'Command line', type: 'cli', repositories: [repository] };
  const running = await createRecordedSession(context, { ...RUNNING, projectId, source }, 'demo-session.ndjson');
  const { id: artifactId } = await recordArtifact(context, { sessionId: running, type: 'PullRequest' });
  const codeRepository = { ...repository, owner: 'acme', baseBranch: 'main' };
  await recordPullRequest(context, recordPullRequestInput.parse({ ...PULL_REQUEST, artifactId, codeRepository }));
}

/** @param file a recorded run beside this module, without times, so that its events get the time of the import */
async function createRecordedSession(context: OperationContext, session: object, file: string): Promise<SessionId> {
  const { id } = await createSession(context, createSessionInput.parse(session));
  await transitionSession(context, { sessionId: id, state: 'inProgress' });
  await importSessionEvents(context, { sessionId: id, source: createReadStream(join(import.meta.dirname, file)) });
  return id;
}

const RUNNING = {
  title: 'Fix the coupon total',
  description: 'The total of a cart is wrong when two coupons are applied.',
  visibility: 'public',
  agent: 'coder',
  baseBranch: 'main',
  branchName: 'coupon-total',
  targetBranch: 'main',
  diffSummary: { additions: 12, deletions: 3 },
};
const WAITING = { title: 'Write the release notes of 2.5', visibility: 'public', agent: 'writer' };
const FAILED = {
  title: 'Import the invoices of 2024',
  description: 'From the old shop.',
  visibility: 'public',
  agent: 'coder',
};

const PULL_REQUEST = {
  url: 'https://git.example.com/acme/shop/pull/42',
  title: 'Apply coupons one after the other',
  status: 'open',
  sourceBranch: 'coupon-total',
  baseBranch: 'main',
  headSha: '8c6b1f0e4a9d2c7b5e3f1a0d9c8b7a6f5e4d3c2b',
  agent: 'coder',
  diff: {
    additions: 12,
    deletions: 3,
    data: '-  return cart.total - coupon.value;\n+  return coupon.apply(cart.total);\n',
  },
  author: { avatarUrl: 'https://git.example.com/avatars/coder.png', login: 'coder' },
};
