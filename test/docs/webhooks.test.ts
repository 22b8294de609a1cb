import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { callWebhooks, createWebhook, deliver, logOf } from '../support/fixtures/webhooks.ts';
import { checkout } from '../support/processes/programs.ts';
import { sampled } from '../support/sample.ts';

/** The receivers of docs/webhooks.md, as a reader starts them. */

const FOLDER = 'docs/examples/webhooks';
const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });

const hasPython = spawnSync('python3', ['--version']).status === 0;

const RECEIVERS = [
  ['Node.js', process.execPath, 'receiver.ts'],
  ['Python', 'python3', 'receiver.py'],
] as const;
const needsPython = (command: string) => command === 'python3' && !hasPython;
const NO_PYTHON = 'Python is not installed';

test.for(RECEIVERS)(
  'the receiver for %s handles each message once, and refuses others',
  async ([, command, file], { skip }) => {
    skip(needsPython(command), NO_PYTHON);
    const { key } = await gateway.createKey();
    // The address is changed when the receiver has a port, because it needs the secret when it starts.
    const { id, secret } = await createWebhook(gateway, key, 'http://127.0.0.1/');
    const child = spawn(command, [join(checkout, FOLDER, file)], {
      env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const next = async () => String((await lines.next()).value);
      const port = /port"?: (\d+)/.exec(await next())?.[1];
      const url = `http://127.0.0.1:${port}/`;
      await callWebhooks(gateway, key, 'PATCH', `/${id}`, { url });
      await callWebhooks(gateway, key, 'POST', `/${id}/ping`);
      const session = await createSession(gateway, key);
      await deliver(gateway);
      expect(await next()).toMatch(/^webhook\.ping /);
      const created = await next();
      expect(created).toMatch(/^session\.created /);
      expect(JSON.parse(created.slice(created.indexOf('{')))).toMatchObject({
        subjectId: session,
        data: { state: 'queued' },
      });
      // Messages arrive more than once, and are handled once. A message of somebody else is refused.
      await callWebhooks(gateway, key, 'POST', `/${id}/replay`, { after: 0 });
      await createSession(gateway, key);
      await callWebhooks(gateway, key, 'POST', `/${id}/ping`);
      await deliver(gateway);
      const log = await logOf(gateway, key, id);
      expect(log.map(({ status }) => status)).toEqual(log.map(() => 204));
      expect(log.length).toBeGreaterThan(4);
      const other = await createWebhook(gateway, key, url);
      await callWebhooks(gateway, key, 'POST', `/${other.id}/ping`);
      await deliver(gateway);
      expect((await logOf(gateway, key, other.id)).map(({ status }) => status)).toEqual([400]);
      child.kill();
      const rest: string[] = [];
      for (let line = await lines.next(); !line.done; line = await lines.next()) rest.push(line.value);
      expect(rest.map((line) => line.split(' ')[0])).toEqual(['webhook.ping', 'member.joined', 'session.created']);
    } finally {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
  },
);

const MALFORMED = [
  '',
  'whsec_',
  'whsec_=',
  'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!',
  // 32 bytes, with characters that lenient decoders drop.
  'whsec_Zm9yIGV4YW1wbGUgb25seSwgbm90IG EgcmVhbCBzZWNyZXQ=',
  // 23 bytes.
  `whsec_${Buffer.alloc(23, 7).toString('base64')}`,
];

const malformed = RECEIVERS.flatMap(([name, ...how]) => MALFORMED.map((secret) => [name, secret, ...how] as const));

sampled(test, 4).for(malformed)(
  'the receiver for %s does not start with the secret "%s"',
  ([, secret, command, file], { skip }) => {
    skip(needsPython(command), NO_PYTHON);
    const { status, stdout, stderr } = spawnSync(command, [join(checkout, FOLDER, file)], {
      env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret, PORT: '0' },
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect([status, stdout, stderr.trim()]).toEqual([
      1,
      '',
      expect.stringMatching(
        /^WEBHOOK_SECRET: must be the secret of the webhook, whsec_ and at least 24 bytes in base64$/m,
      ),
    ]);
  },
);
