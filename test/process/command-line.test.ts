import { afterAll, expect, test } from 'vitest';
import {
  type Finished,
  call,
  cli,
  endProcesses,
  emptyDatabase,
  issueKey,
  run,
  start,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';

// test/operator tests the commands themselves. These tests are about the program that runs them.

afterAll(endProcesses);

/** The answer of a command, which must succeed and print nothing else. */
function answerOf({ code, stdout, stderr }: Finished): Record<string, string> {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout) as Record<string, string>;
}

test('a command prints one line of JSON, on an empty and on a migrated database', async () => {
  const env = await emptyDatabase();
  expect(answerOf(await cli(['migrate'], env))).toEqual({ migrated: true });
  expect(answerOf(await cli(['migrate'], env))).toEqual({ migrated: true });
  // An organization that does not exist is reported in one line.
  expect(
    await cli(['subscriptions', 'set', '--organization', 'nowhere', '--family', 'sales', '--level', 'free'], env),
  ).toEqual({ code: 1, stdout: '', stderr: 'organization nowhere not found\n' });
});

test('a list ends without an error if its reader closes the pipe, like `head`', async () => {
  const env = await emptyDatabase();
  await issueKey(env);
  const { child, output, exited } = start([GATEWAY, 'cli', 'keys', 'list'], env);
  child.stdout.destroy();
  expect({ code: await exited, stderr: output.stderr }).toEqual({ code: 0, stderr: '' });
});

test('invalid arguments cause one line and status 1, before the configuration is read', async () => {
  expect(await cli(['keys', 'revoke'], { PORT: 'none' })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'ID: is required\n',
  });
});

test('without a command, the program prints its usage and ends with status 1; with --help with status 0', async () => {
  const asked = await cli(['--help'], {});
  expect({ code: asked.code, stderr: asked.stderr }).toEqual({ code: 0, stderr: '' });
  expect(await cli([], {})).toEqual({ code: 1, stdout: '', stderr: asked.stdout });
  expect(asked.stdout).toMatchInlineSnapshot(`
    "Usage: npm run --silent cli -- <command>

      migrate               migrate the database to this version
      keys create           create an API key, and its user and organization if they do not exist
      keys list             list API keys, newest first
      keys revoke           revoke an API key
      keys extend           add scopes to an API key, such as those of a newer version
      sign-in link          print a link that signs a person in once within 10 minutes, also without the identity provider
      identities list       list the identities with which people sign in, newest first
      identities unlink     unlink a person from the identity provider; the next identity with the verified address is joined
      organizations list    list organizations, newest first
      organizations export  write everything of an organization, one JSON object on a line; without a last line \`end\` it is not complete
      users delete          delete an account and what its person recorded privately
      users list            list users, newest first
      sessions list         list sessions, newest first
      subscriptions set     change a subscription of an organization
      events import         append the events of a file to a session; if it is interrupted, run it again to continue
      events prune          delete the oldest events of sessions; requires an age or a session
      login                 sign in to a gateway in a browser; the recorder then needs no key
      logout                end this sign-in
      plan export           print the tracking plan of a gateway as YAML; GATEWAY is its address, KEY an API key
      plan check            print the differences of a tracking plan to that of GATEWAY with KEY; status 1 if one is breaking, 2 for errors
      plan apply            change the event definitions of GATEWAY with KEY as the tracking plan says; up to 250 of them all or none
      plan types            print a TypeScript module with one function for each event of a tracking plan
      database copy         copy everything to an empty database, such as from the embedded one to your own PostgreSQL
      secrets rotate        encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS
      seed                  create the demo workspace in an empty database

    --help after a command lists its options; --version prints the version.
    "
  `);
});

test('commands work on the embedded database, with and without a running gateway, and through npm', async () => {
  const DATA_DIR = await temporaryDirectory();
  const create = ['keys', 'create', '--email', 'a@example.com', '--organization', 'acme'];
  const before = answerOf(await cli(create, { DATA_DIR }));
  const gateway = await startGateway({ DATA_DIR });
  const status = async (key = '') => (await call(gateway.url, key, 'GET', '/events/2026-03/event-definitions')).status;
  expect(await status(before.key)).toBe(200);

  const beside = answerOf(await run(['npm', 'run', '--silent', 'cli', '--', ...create], { DATA_DIR }));
  expect(await status(beside.key)).toBe(200);
  const revoked = await cli(['keys', 'revoke', before.keyId ?? ''], { DATA_DIR });
  expect(answerOf(revoked)).toEqual({ deleted: true, id: before.keyId });
  expect([await status(before.key), await status(beside.key)]).toEqual([401, 200]);
  // The command uses the encryption keys in DATA_DIR, like the gateway.
  expect(answerOf(await cli(['secrets', 'rotate'], { DATA_DIR }))).toEqual({
    rotated: 0,
    answers: 0,
    keyId: expect.any(String),
  });
  expect(await gateway.end('SIGTERM')).toBe(0);
});
