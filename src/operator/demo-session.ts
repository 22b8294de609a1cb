import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { SessionId } from '../core/ids.ts';
import type { OperationContext } from '../core/operation.ts';
import { importSessionEvents } from '../domains/session-events/public.ts';
import {
  createSession,
  createSessionInput,
  recordArtifact,
  recordPullRequest,
  recordPullRequestInput,
  transitionSession,
} from '../domains/sessions/public.ts';

const REPOSITORY = { id: randomUUID(), name: 'shop', provider: 'github' };
const PROJECT = { id: randomUUID(), name: 'Shop', icon: 'bug', color: 'teal' };

const RUNNING = {
  title: 'Fix the coupon total',
  description: 'The total of a cart is wrong when two coupons are applied.',
  visibility: 'public',
  agent: 'coder',
  baseBranch: 'main',
  branchName: 'coupon-total',
  targetBranch: 'main',
  project: PROJECT,
  source: { name: 'Command line', type: 'cli', repositories: [REPOSITORY] },
  diffSummary: { additions: 12, deletions: 3 },
};
const WAITING = { title: 'Write the release notes of 2.5', visibility: 'public', agent: 'writer', project: PROJECT };
const FAILED = {
  title: 'Import the invoices of 2024',
  description: 'From the old shop.',
  visibility: 'public',
  agent: 'coder',
  project: PROJECT,
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
  codeRepository: { ...REPOSITORY, owner: 'acme', baseBranch: 'main' },
};

/** Creates a waiting, a failed and a running session. A runner could continue the last one. */
export async function createDemoSessions(context: OperationContext): Promise<void> {
  await createSession(context, createSessionInput.parse(WAITING));
  const failed = await createRecordedSession(context, FAILED, 'demo-failed-session.ndjson');
  await transitionSession(context, { sessionId: failed, state: 'failed' });
  const running = await createRecordedSession(context, RUNNING, 'demo-session.ndjson');
  const artifact = await recordArtifact(context, { sessionId: running, type: 'PullRequest' });
  await recordPullRequest(context, recordPullRequestInput.parse({ ...PULL_REQUEST, artifactId: artifact.id }));
}

/** @param file a recorded run beside this module, without times, so that its events get the time of the import */
async function createRecordedSession(context: OperationContext, session: object, file: string): Promise<SessionId> {
  const { id } = await createSession(context, createSessionInput.parse(session));
  await transitionSession(context, { sessionId: id, state: 'inProgress' });
  await importSessionEvents(context, { sessionId: id, source: createReadStream(join(import.meta.dirname, file)) });
  return id;
}
