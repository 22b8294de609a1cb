import { eventsOf } from '../../support/fixtures/sessions.ts';
import type { Cases } from '../../support/operations/cases.ts';

export const sessionEvents: Cases = {
  redactSessionEvents: {
    input: ({ sessionId }) => ({ sessionId, text: 'never printed' }),
    body: () => ({ text: 'never printed' }),
    target: 'Session',
  },
  appendSessionEvents: {
    input: ({ sessionId }) => ({ sessionId, events: eventsOf(3) }),
    body: () => ({ events: eventsOf(3) }),
    target: 'Session',
  },
};
