// Tests that make no sense through several gateways, each with its reason. Whole files are left out in vitest.config.ts.
import { beforeEach } from 'vitest';

const INSIDE = 'looks into the one process that would have the request';
const LINK = 'is about a link that only the process that has printed it knows';
const APART: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/gateway/admission/authentication.test.ts': {
    'before the body is read': 'sees whether a body is read, which a balancer does',
    'before anything is read or written': 'sees whether a body is read, which a balancer does',
  },
  'test/gateway/admission/browser-session.test.ts': {
    'signs in once': LINK,
    'is not used up by what only looks at it': LINK,
    'works for 10 minutes': LINK,
  },
  'test/domains/session-events/append.test.ts': {
    'of 20 concurrent appends of one batch': 'waits until each of exactly two processes waits for the session',
  },
  'test/domains/session-events/tail.test.ts': {
    'a stream sends a ping comment': INSIDE,
    'no listener remains after a stream': INSIDE,
    'another client that reads nothing': INSIDE,
  },
  'test/domains/session-events/subscription.test.ts': {
    'a client that disconnects': INSIDE,
  },
};

beforeEach(({ task, skip }) => {
  const file = Object.keys(APART).find((name) => task.file.filepath.endsWith(name)) ?? '';
  const name = Object.keys(APART[file] ?? {}).find((part) => task.name.includes(part));
  if (name !== undefined) skip(APART[file]?.[name]);
});
