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
/** The run began this long ago, which is longer than it takes. */
const RUN_MS = 60_000;
const REPOSITORY = { id: '0a0f6cf2-92a1-4d5c-8f4b-2a6d2c7d9b11', name: 'shop', provider: 'github' };

const SESSION = createSessionInput.parse({
  title: 'Fix the coupon total',
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

const WAITING = {
  title: 'Write the release notes of 2.5',
  visibility: 'public',
  agent: 'writer',
  project: { id: '7d444840-9dc0-41d1-b245-5ffdce74fad2', name: 'Shop', icon: 'bug', color: 'teal' },
};
const FAILED = { ...WAITING, title: 'Import the invoices of 2024', agent: 'coder', description: 'From the old shop.' };
const FAILED_EVENTS = [
  {
    eventType: 'stream_event',
    provider: 'anthropic',
    eventData: {
      type: 'stream_event',
      deltaType: 'text_delta',
      itemId: 'item_1',
      responsePhase: 'commentary',
      accumulatedText: 'I will check where the old shop stores its invoices.',
    },
  },
  {
    eventType: 'stream_event',
    provider: 'anthropic',
    eventData: {
      type: 'stream_event',
      deltaType: 'input_json_delta',
      itemId: 'toolu_1',
      toolName: 'Bash',
      accumulatedText: '{"command":"psql -h old-shop.example -c \'\\\\dt invoices*\'"}',
    },
  },
  {
    eventType: 'tool_result',
    provider: 'anthropic',
    eventData: {
      type: 'tool_result',
      itemId: 'toolu_1',
      toolName: 'Bash',
      toolResult: {
        status: 'error',
        output: 'psql: error: connection to server at "old-shop.example" failed: Connection refused',
        error: 'the command ended with code 2',
        exitCode: 2,
      },
    },
  },
  {
    eventType: 'session',
    provider: 'anthropic',
    eventData: { type: 'runner_error', source: 'runner', message: 'The database of the old shop cannot be reached.' },
  },
];

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

/** Creates a waiting, a failed and a running session with a few hundred events. A runner could continue the last one. */
export async function createDemoSessions(context: OperationContext): Promise<void> {
  await createSession(context, createSessionInput.parse(WAITING));
  await createFailedSession(context);
  await createRunningSession(context);
}

async function createFailedSession(context: OperationContext): Promise<void> {
  const { id } = await createSession(context, createSessionInput.parse(FAILED));
  await transitionSession(context, { sessionId: id, state: 'inProgress' });
  const events = FAILED_EVENTS.map((event) => recordedEvent.parse(event));
  await appendSessionEvents(context, { sessionId: id, batchId: 'demo', events });
  await transitionSession(context, { sessionId: id, state: 'failed' });
}

/** The running session, with a pull request. */
async function createRunningSession(context: OperationContext): Promise<void> {
  const { id } = await createSession(context, SESSION);
  await transitionSession(context, { sessionId: id, state: 'inProgress' });
  const startedAt = context.now().getTime() - RUN_MS;
  const events = [...agentRun(EVENTS, 1, startedAt)].map((event) => recordedEvent.parse(event));
  await appendSessionEvents(context, { sessionId: id, batchId: 'demo', events });
  const artifact = await recordArtifact(context, { sessionId: id, type: 'PullRequest' });
  await recordPullRequest(context, recordPullRequestInput.parse({ ...PULL_REQUEST, artifactId: artifact.id }));
}
