// Skips tests that cannot run through a pooler, each with its reason.
import { beforeEach } from 'vitest';

const OTHER_PROXY = 'connects through a proxy that simulates network faults instead of the pooler';
const SKIPPED: Readonly<Record<string, string>> = {
  'is created once by concurrent processes': 'migrates, for which the gateway does not use the pooler',
  'a process names its version': 'the pooler names the connections',
  'connected processes of earlier versions': 'the pooler names the connections',
  'while one client reads 50 MB': 'measures the memory of the process',
  'the pool loses no capacity': OTHER_PROXY,
  'a database that answers only some connections': OTHER_PROXY,
};

beforeEach(({ task, skip }) => {
  const name = Object.keys(SKIPPED).find((part) => task.name.includes(part));
  if (name !== undefined) skip(SKIPPED[name]);
});
