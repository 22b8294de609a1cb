// Tests that make no sense through a pooler, each with its reason.
import { beforeEach } from 'vitest';

const APART: Readonly<Record<string, string>> = {
  'is created once, by however many processes at once': 'migrates, which goes past the pooler',
  'while one reader takes 50 MB': 'is about the memory of the process',
};

beforeEach(({ task, skip }) => {
  const name = Object.keys(APART).find((part) => task.name.includes(part));
  if (name !== undefined) skip(APART[name]);
});
