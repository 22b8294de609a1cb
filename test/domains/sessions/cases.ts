import { randomUUID } from 'node:crypto';
import { pullRequestInput } from '../../support/fixtures/sessions.ts';
import type { Cases } from '../../support/operations/cases.ts';

export const sessions: Cases = {
  createSession: { input: () => ({ title: 'New' }), body: () => ({ title: 'New' }), creates: 'Session' },
  ensureSession: {
    input: () => ({ agent: 'claude', sourceId: randomUUID() }),
    body: () => ({}),
    creates: 'Session',
  },
  updateSession: {
    input: ({ sessionId }) => ({ sessionId, title: `Renamed ${randomUUID()}` }),
    target: 'Session',
  },
  pinSession: { isOnlyInGraphQL: true, input: ({ sessionId }) => ({ sessionId, isPinned: true }), target: 'Session' },
  transitionSession: { input: ({ sessionId }) => ({ sessionId, state: 'CANCELLED' }), target: 'Session' },
  holdSession: {
    input: ({ sessionId }) => ({ sessionId, reason: 'Evidence' }),
    body: () => ({ reason: 'Evidence' }),
    target: 'Session',
  },
  releaseSession: { input: ({ sessionId }) => ({ sessionId }), target: 'Session' },
  markSessionHandled: {
    input: ({ sessionId }) => ({ sessionId, isHandled: true }),
    body: () => ({}),
    target: 'Session',
  },
  unmarkSessionHandled: { operation: 'markSessionHandled', target: 'Session' },
  deleteSession: { input: ({ sessionId }) => ({ sessionId }), target: 'Session' },
  recordArtifact: { input: ({ sessionId }) => ({ sessionId, type: 'PLAN' }), target: 'Session' },
  recordPullRequest: { input: ({ artifactId }) => pullRequestInput(artifactId), target: 'Session' },
};
