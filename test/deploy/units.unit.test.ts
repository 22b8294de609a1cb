import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, readFile, readdir, rm, writeFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/core/config.ts';
import { OIDC_ENVIRONMENT, oidcSettings } from '../../src/core/oidc-settings.ts';
import { GATEWAY, checkout } from '../support/processes/programs.ts';

/** The configurations in deploy/ that start gateways and workers as services, and those of HAProxy. */

const DEPLOY = join(checkout, 'deploy');
const read = (path: string) => readFile(join(DEPLOY, path), 'utf8');
const isInstalled = (program: string) => spawnSync(program, ['--version']).error === undefined;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-units-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('the systemd units are valid and start bin/gateway', async ({ skip }) => {
  skip(!isInstalled('systemd-analyze'), 'systemd is not installed');
  const files = await readdir(join(DEPLOY, 'systemd'));
  for (const file of files.filter((name) => name.endsWith('.service'))) {
    const unit = await read(`systemd/${file}`);
    const program = file.includes('worker') ? 'worker' : 'start';
    expect(unit).toContain(`\nExecStart=/opt/workspace-gateway/bin/gateway ${program}\n`);
    // systemd-analyze requires that the program exists, and the folder of this checkout can have a space in its name.
    const gateway = join(folder, `gateway-${program}`);
    await symlink(GATEWAY, gateway);
    const path = join(folder, file);
    await writeFile(path, unit.replaceAll('/opt/workspace-gateway/bin/gateway', gateway));
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
    expect({ file, status, output: `${stdout}${stderr}` }).toEqual({ file, status: 0, output: '' });
  }
});

/** The settings of the identity provider in an example, which are comments. */
async function oidcSettingsIn(...paths: readonly string[]): Promise<Record<string, string>> {
  const text = (await Promise.all(paths.map(read))).join('\n');
  const settings = [...text.matchAll(/^ *# (OIDC_\w+)(?:=|: )'?(.*?)'?$/gm)];
  return Object.fromEntries(settings.map(([, name = '', value = '']) => [name, value]));
}

test.for([['systemd/environment.example'], ['kubernetes/base/configuration.yaml', 'kubernetes/secret.example.yaml']])(
  'all settings of the identity provider are in %o, with values that the gateway accepts',
  async (files) => {
    const settings = await oidcSettingsIn(...files);
    expect(Object.keys(settings).toSorted()).toEqual(Object.keys(OIDC_ENVIRONMENT).toSorted());
    expect(oidcSettings(readConfig(settings))).toMatchObject({ issuer: 'https://id.example.com', name: 'Example' });
  },
);

test('the secret of the identity provider is in no ConfigMap', async () => {
  expect(Object.keys(await oidcSettingsIn('kubernetes/secret.example.yaml'))).toEqual(['OIDC_CLIENT_SECRET']);
  expect(Object.keys(await oidcSettingsIn('kubernetes/base/configuration.yaml'))).not.toContain('OIDC_CLIENT_SECRET');
});

test.for(['postgresql/haproxy.cfg', 'proxy/haproxy.cfg'])('HAProxy accepts %s', async (file, { skip }) => {
  const haproxy = '/usr/sbin/haproxy';
  skip(!isInstalled(haproxy), 'HAProxy is not installed: apt-get install haproxy');
  skip(!isInstalled('openssl'), 'openssl is not installed');
  // HAProxy requires that the certificate exists.
  const certificate = join(folder, 'gateway.pem');
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=gateway.example.com', '-days', '1'];
  spawnSync('openssl', [...made, '-keyout', certificate, '-out', `${certificate}.crt`]);
  await appendFile(certificate, await readFile(`${certificate}.crt`));
  const path = join(folder, 'haproxy.cfg');
  const configuration = (await read(file))
    .replaceAll('/etc/haproxy/gateway.pem', certificate)
    .replaceAll('/etc/haproxy/patroni-ca.crt', `${certificate}.crt`);
  await writeFile(path, configuration);
  const { status, stderr } = spawnSync(haproxy, ['-c', '-f', path], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('the examples for the database accept no unencrypted or unauthenticated connections', async () => {
  const [patroni = '', pgbouncer = '', haproxy = '', secret = ''] = await Promise.all(
    [
      'postgresql/patroni.yml',
      'postgresql/pgbouncer.ini',
      'postgresql/haproxy.cfg',
      'kubernetes/secret.example.yaml',
    ].map(read),
  );
  for (const text of [patroni, pgbouncer, haproxy]) expect(text).not.toMatch(/\b0\.0\.0\.0\b|bind :/);
  expect(patroni).toMatch(/^restapi:\n(?: .*\n)* {2}authentication: .*\n {2}certfile: /m);
  expect(patroni).toMatch(/^etcd3:\n(?: .*\n)* {2}protocol: https\n {2}username: /m);
  const [, rules = ''] = /pg_hba:\n((?: +- .*\n)+)/.exec(patroni) ?? [];
  for (const rule of rules.trim().split('\n')) expect(rule).toMatch(/^ *- hostssl .* scram-sha-256$/);
  expect(pgbouncer).toMatch(/^client_tls_sslmode = require$/m);
  // By default a restart of PostgreSQL is an outage of 15 seconds.
  expect(pgbouncer).toMatch(/^server_login_retry = 1$/m);
  expect(secret).toContain('sslmode=verify-full');
});

test('no password of the examples works as it stands', async () => {
  const patroni = await read('postgresql/patroni.yml');
  const passwords = [...patroni.matchAll(/password: ([^ }\n]+)/g)].map(([, value]) => value);
  // YAML with an unknown tag cannot be loaded.
  expect(new Set(passwords)).toEqual(new Set(['!yours']));
  const [, keys = ''] = /ENCRYPTION_KEYS: (.*)/.exec(await read('kubernetes/secret.example.yaml')) ?? [];
  expect(() => readConfig({ ENCRYPTION_KEYS: keys })).toThrow('ENCRYPTION_KEYS');
  const compose = await readFile(join(checkout, 'compose.yaml'), 'utf8');
  for (const [, value = ''] of compose.matchAll(/^ +(?:POSTGRES_PASSWORD|ENCRYPTION_KEYS): (.*)/gm))
    expect(value).toMatch(/^\$\{\w+:\?is needed\}$/);
});

test('the role of the gateway in compose.yaml is not a superuser', async () => {
  const compose = await readFile(join(checkout, 'compose.yaml'), 'utf8');
  expect(compose).toContain('DATABASE_URL: postgresql://gateway:');
  // The image makes POSTGRES_USER a superuser, by default `postgres`.
  expect(compose).not.toContain('POSTGRES_USER');
  expect(compose).toContain("create role gateway login password :'password';");
  expect(compose).toContain('alter role postgres password null;');
});
