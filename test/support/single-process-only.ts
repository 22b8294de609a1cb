// Skips tests that cannot run through several gateways, each with its reason. vitest.config.ts excludes whole files.
import { beforeEach } from 'vitest';

const ONE_PROCESS = 'inspects the state of the process that answers the request';
const SKIPPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/gateway/admission/authentication.test.ts': {
    'before the body is read': 'checks that the gateway does not read the body, but a load balancer reads it',
    'before anything is read or written':
      'checks that the gateway does not read the body, but a load balancer reads it',
  },
  'test/gateway/authorization-server/device.test.ts': {
    'is not found by guessing': 'every process counts wrong codes by itself',
  },
  'test/domains/session-events/append.test.ts': {
    'of 20 concurrent appends of one batch': 'waits until each of exactly two processes waits for the session',
  },
  'test/domains/session-events/tail.test.ts': {
    'a stream sends a ping comment': ONE_PROCESS,
    'no listener remains after a stream': ONE_PROCESS,
    'another client that reads nothing': ONE_PROCESS,
  },
  'test/domains/session-events/subscription.test.ts': {
    'a client that disconnects': ONE_PROCESS,
  },
};

beforeEach(({ task, skip }) => {
  const file = Object.keys(SKIPPED).find((name) => task.file.filepath.endsWith(name)) ?? '';
  const name = Object.keys(SKIPPED[file] ?? {}).find((part) => task.name.includes(part));
  if (name !== undefined) skip(SKIPPED[file]?.[name]);
});
