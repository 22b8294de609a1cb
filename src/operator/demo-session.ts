import { agentRun } from './demo-agent-run.ts';
import type { OperationContext } from '../core/operation.ts';
import { recordedEvent } from '../domains/session-events/event-data.ts';
import { appendSessionEvents } from '../domains/session-events/operations.ts';
import { createSessionInput, recordPullRequestInput } from '../domains/sessions/input.ts';
import {
  createSession,
  recordArtifact,
  recordPullRequest,
  transitionSession,
} from '../domains/sessions/recording-operations.ts';

const EVENTS = 400;
const REPOSITORY = { id: '0a0f6cf2-92a1-4d5c-8f4b-2a6d2c7d9b11', name: 'shop', provider: 'github' };

const SESSION = createSessionInput.parse({
  title: 'Mend the coupon total',
  description: 'The total of a cart is wrong when two coupons are applied.',
  visibility: 'public',
  agent: 'coder',
  baseBranch: 'main',
  branchName: 'coupon-total',
  targetBranch: 'main',
  project: { id: '7d444840-9dc0-41d1-b245-5ffdce74fad2', name: 'Shop', icon: 'bug', color: 'teal' },
  source: { name: 'Command line', type: 'cli', repositories: [REPOSITORY] },
  diffSummary: { additions: 12, deletions: 3 },
});

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

/** A session that runs, with a few hundred events and a pull request; a runner could go on with it. */
export async function createDemoSession(context: OperationContext): Promise<void> {
  const { id } = await createSession(context, SESSION);
  await transitionSession(context, { sessionId: id, state: 'inProgress' });
  const events = [...agentRun(EVENTS)].map((event) => recordedEvent.parse(event));
  await appendSessionEvents(context, { sessionId: id, batchId: 'demo', events });
  const artifact = await recordArtifact(context, { sessionId: id, type: 'PullRequest' });
  await recordPullRequest(context, recordPullRequestInput.parse({ ...PULL_REQUEST, artifactId: artifact.id }));
}
