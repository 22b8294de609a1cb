// Tests that make no sense through several gateways, each with its reason. Whole files are left out in vitest.config.ts.
import { beforeEach } from 'vitest';

const INSIDE = 'looks into the one process that would have the request';
const LINK = 'is about a link that only the process that has printed it knows';
const APART: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/gateway/http/requests.test.ts': {
    ': 4 MiB pass': 'counts what a gateway takes of an endless body, of which a balancer takes some, too',
  },
  'test/gateway/admission/authentication.test.ts': {
    'before the body is read': 'sees whether a body is read, which a balancer does',
    'before anything is read or written': 'sees whether a body is read, which a balancer does',
  },
  'test/gateway/admission/browser-session.test.ts': {
    'signs in once': LINK,
    'is not used up by what only looks at it': LINK,
    'works for 10 minutes': LINK,
  },
  'test/gateway/graphql/limits.test.ts': {
    'query text of 64 KiB': 'has it in an address, which a server refuses before',
  },
  'test/gateway/idempotency/graphql.test.ts': {
    'what is recorded with a key': 'listens in one process, and does not wait for what another one tells it',
  },
  'test/domains/mcp-connections/hostile-servers.test.ts': {
    'while a hundred requests wait':
      'is about the pool of one process, and leans on the time that its outbound requests may take',
  },
  'test/domains/session-events/append.test.ts': {
    'of 20 twins of one batch': 'waits until each of exactly two processes waits for the session',
  },
  'test/domains/session-events/crowd.test.ts': {
    '100 appends that wait': 'looks into the queue of one process',
    'whose turn does not come': INSIDE,
  },
  'test/domains/session-events/tail.test.ts': {
    'a quiet stream is pinged': INSIDE,
    'nothing is left of a stream': INSIDE,
    'who does not read costs a page': INSIDE,
  },
  'test/domains/session-events/subscription.test.ts': {
    'a client that hangs up': INSIDE,
  },
};

beforeEach(({ task, skip }) => {
  const file = Object.keys(APART).find((name) => task.file.filepath.endsWith(name)) ?? '';
  const name = Object.keys(APART[file] ?? {}).find((part) => task.name.includes(part));
  if (name !== undefined) skip(APART[file]?.[name]);
});
