// Tests that make no sense through a pooler, each with its reason.
import { beforeEach } from 'vitest';

const PAST = 'connects past the pooler, through a proxy that it can silence';
const APART: Readonly<Record<string, string>> = {
  'is created once, by however many processes at once': 'migrates, which goes past the pooler',
  'while one client reads 50 MB': 'is about the memory of the process',
  'a connection that is lost in the middle of its transaction': PAST,
  'a database that answers some and lets others wait': PAST,
};

beforeEach(({ task, skip }) => {
  const name = Object.keys(APART).find((part) => task.name.includes(part));
  if (name !== undefined) skip(APART[name]);
});
