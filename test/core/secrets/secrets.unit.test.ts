import { createSecretKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { CompactEncrypt, decodeProtectedHeader } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createSecretBox,
  loadOrCreateKeyFile,
  parseEncryptionKeys,
  SecretError,
} from '../../../src/core/secrets/secrets.ts';
import { anyText } from '../../support/fixtures/any-text.ts';
import { full } from '../../support/proof.ts';

const BYTES = { old: Buffer.alloc(32, 'old key bytes'), next: Buffer.alloc(32, 'next key bytes') };
const OLD = { id: 'old', key: createSecretKey(BYTES.old) };
const NEXT = { id: 'next', key: createSecretKey(BYTES.next) };
const PLACE = { table: 'mcp_connection', row: '0190c2a4-0000-7000-8000-000000000001', field: 'client_secret' };
const ALTERED = new SecretError(PLACE, 'was altered, or never sealed');

const box = createSecretBox([OLD]);

/** A JWE for PLACE with the right key, but with a header that the test chooses. */
function forge(header: Record<string, unknown>, key = OLD.key, crit?: Record<string, boolean>) {
  return new CompactEncrypt(Buffer.from('forged'))
    .setProtectedHeader({ alg: 'A256GCMKW', enc: 'A256GCM', kid: OLD.id, ...PLACE, ...header })
    .encrypt(key, crit ? { crit } : undefined);
}

function holdsForAll(arbitrary: fc.Arbitrary<string>, check: (text: string) => Promise<void>) {
  return fc.assert(fc.asyncProperty(arbitrary, check));
}

describe('sealing', () => {
  test('every well-formed text can be sealed and opened unchanged', async () => {
    await holdsForAll(anyText({ maxLength: 200 }), async (secret) => {
      expect(await box.open(await box.seal(secret, PLACE), PLACE)).toBe(secret);
    });
  });

  test.each([
    ['empty', ''],
    ['a byte order mark', '\uFEFFsecret'],
    ['NUL and line breaks', '\0\r\n'],
    ['65,536 characters of three bytes', '\u20AC'.repeat(65_536)],
    ['65,536 characters in pairs of surrogates', '\u{1F511}'.repeat(32_768)],
  ])('round trip: %s', async (_, secret) => {
    expect(await box.open(await box.seal(secret, PLACE), PLACE)).toBe(secret);
  });

  test('a lone surrogate is refused rather than silently replaced', async () => {
    const refused = new TypeError('a secret must not contain a lone surrogate');
    await expect(box.seal('canary\uD800', PLACE)).rejects.toEqual(refused);
    const anyUnits = fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units));
    await holdsForAll(anyUnits, async (secret) => {
      fc.pre(!secret.isWellFormed());
      await expect(box.seal(secret, PLACE)).rejects.toEqual(refused);
    });
  });

  test('the header contains only the algorithms, the key id, the location, and the iv and tag of the wrapped key', async () => {
    const sealed = await box.seal('secret', PLACE);
    expect(decodeProtectedHeader(sealed)).toEqual({
      alg: 'A256GCMKW',
      enc: 'A256GCM',
      kid: 'old',
      ...PLACE,
      iv: expect.stringMatching(/^[\w-]{16}$/),
      tag: expect.stringMatching(/^[\w-]{22}$/),
    });
    expect(sealed).not.toContain(Buffer.from('secret').toString('base64url'));
  });

  test('sealing the same text twice gives different encrypted parts', async () => {
    const [one, two] = [await box.seal('secret', PLACE), await box.seal('secret', PLACE)].map((jwe) => jwe.split('.'));
    expect(one?.filter((part) => two?.includes(part))).toEqual([]);
  });
});

describe('opening', () => {
  test.each([
    ['table', { ...PLACE, table: 'mcp_connection_header' }],
    ['row', { ...PLACE, row: '0190c2a4-0000-7000-8000-000000000002' }],
    ['field', { ...PLACE, field: 'access_token' }],
  ])('a value that was sealed for another %s is refused', async (_, other) => {
    const [mine, theirs] = [await box.seal('mine', PLACE), await box.seal('theirs', other)];
    const reason = 'holds a value that was sealed for another place';
    await expect(box.open(theirs, PLACE)).rejects.toEqual(new SecretError(PLACE, reason));
    await expect(box.open(mine, other)).rejects.toEqual(new SecretError(other, reason));
  });

  test('a location with other parts is a different location, even if the joined text is the same', async () => {
    const sealed = await box.seal('secret', { table: 'a', row: 'b/c', field: 'd' });
    await expect(box.open(sealed, { table: 'a/b', row: 'c', field: 'd' })).rejects.toThrow('another place');
  });

  test('a change of any character of any part is refused, even if decoders would ignore it', async () => {
    const parts = (await box.seal('secret!', PLACE)).split('.');
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');
    for (const [index, part] of parts.entries()) {
      const characters = part.split('');
      const changed = characters.map((was, at) => characters.with(at, was === 'B' ? 'C' : 'B').join(''));
      // Some of these differ only in unused bits.
      const endings = alphabet.map((last) => part.slice(0, -1) + last).filter((variant) => variant !== part);
      for (const variant of [...changed, ...endings, ` ${part}`, `${part}\n`, `${part}=`, '']) {
        await expect(box.open(parts.with(index, variant).join('.'), PLACE)).rejects.toThrow(SecretError);
      }
    }
  });

  test('a mix of parts of two values for the same location is refused', async () => {
    const [one, two] = [await box.seal('one', PLACE), await box.seal('two', PLACE)].map((jwe) => jwe.split('.'));
    for (const index of [0, 1, 2, 3, 4]) {
      const mixed = one?.with(index, two?.[index] ?? '').join('.') ?? '';
      await expect(box.open(mixed, PLACE)).rejects.toEqual(ALTERED);
    }
  });

  test.each([
    ['alg A256KW', () => forge({ alg: 'A256KW' })],
    ['alg dir', () => forge({ alg: 'dir' })],
    ['enc A128GCM', () => forge({ enc: 'A128GCM' })],
    ['enc A256CBC-HS512', () => forge({ enc: 'A256CBC-HS512' })],
    ['zip DEF', () => forge({ zip: 'DEF' })],
    ['crit', () => forge({ crit: ['extension'], extension: 1 }, OLD.key, { extension: true })],
    ['another key under a known id', () => forge({}, NEXT.key)],
  ])('refused, although it was created with the right key: %s', async (_, forged) => {
    expect(await box.open(await forge({}), PLACE)).toBe('forged');
    await expect(box.open(await forged(), PLACE)).rejects.toEqual(ALTERED);
  });

  test.each([
    ['alg none', { alg: 'none', enc: 'A256GCM', kid: 'old', ...PLACE }],
    ['no alg', { enc: 'A256GCM', kid: 'old', ...PLACE }],
    ['no enc', { alg: 'A256GCMKW', kid: 'old', ...PLACE }],
    ['PBES2 with a costly count', { alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', kid: 'old', p2s: 'AAAA', p2c: 2 ** 31 }],
    ['zip of another kind', { alg: 'A256GCMKW', enc: 'A256GCM', kid: 'old', zip: 'BR', ...PLACE }],
  ])('refused before any decryption: %s', async (_, header) => {
    const [, ...parts] = (await box.seal('secret', PLACE)).split('.');
    const encoded = Buffer.from(JSON.stringify(header)).toString('base64url');
    await expect(box.open([encoded, ...parts].join('.'), PLACE)).rejects.toEqual(ALTERED);
  });

  test('a text that was never sealed, or an unsecured token, is refused, and the message does not contain it', async () => {
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const likely = ['', '....', 'sk-canary', '{"canary":1}', 'a.b.c.d.e', `${none}.Zm9yZ2Vk.`, `${none}....`];
    await holdsForAll(fc.oneof(fc.string(), fc.constantFrom(...likely)), async (text) => {
      await expect(box.open(text, PLACE)).rejects.toEqual(ALTERED);
      expect(box.isStale(text)).toBe(true);
    });
  });
});

describe('rotation', () => {
  const rotated = createSecretBox([NEXT, OLD]);

  test('the first key seals and every key opens; a value of an older key is stale until it is sealed again', async () => {
    const before = await box.seal('secret', PLACE);
    expect(await rotated.open(before, PLACE)).toBe('secret');
    const after = await rotated.seal('secret', PLACE);
    expect({
      keyIds: [box.currentKeyId, rotated.currentKeyId, createSecretBox([NEXT, OLD]).keyIds],
      stale: [box.isStale(before), rotated.isStale(before), rotated.isStale(after), box.isStale(after)],
    }).toEqual({ keyIds: ['old', 'next', ['next', 'old']], stale: [false, true, false, true] });
    expect(await createSecretBox([NEXT]).open(after, PLACE)).toBe('secret');
  });

  test('the error for a missing key contains its id', async () => {
    const sealed = await rotated.seal('secret', PLACE);
    await expect(box.open(sealed, PLACE).catch(String)).resolves.toBe(
      'SecretError: Secret mcp_connection/0190c2a4-0000-7000-8000-000000000001/client_secret ' +
        'is sealed under a key "next", which is not among the encryption keys',
    );
  });

  test.each([[undefined], [''], ['__proto__'], ['constructor'], ['x'.repeat(33)], ['a\nb'], [7], [{}]])(
    'the invalid key id %j matches no key',
    async (kid) => {
      await expect(box.open(await forge({ kid }), PLACE)).rejects.toThrow('which is not among the encryption keys');
      await expect(box.open(await forge({ kid }), PLACE)).rejects.not.toThrow(/x{33}|a\nb/);
    },
  );

  test.each([[undefined], [''], ['x'.repeat(33)], ['a\nb']])('the improper key id %j is not shown', async (kid) => {
    const reason = 'is sealed under a key without a proper id, which is not among the encryption keys';
    await expect(box.open(await forge({ kid }), PLACE)).rejects.toEqual(new SecretError(PLACE, reason));
  });

  test('a box without keys cannot be created', () => {
    expect(() => createSecretBox([])).toThrow(new Error('at least one encryption key is needed'));
  });
});

describe('ENCRYPTION_KEYS', () => {
  const [old, next] = [BYTES.old.toString('base64'), BYTES.next.toString('base64')];

  test('contains one key or several in order; surrounding space is ignored', () => {
    const keys = parseEncryptionKeys(` old:${old},next:${next}\n`);
    expect(keys.map(({ id, key }) => [id, key.export()])).toEqual([
      ['old', BYTES.old],
      ['next', BYTES.next],
    ]);
    expect(parseEncryptionKeys(`${'x'.repeat(32)}:${old}`).map(({ id }) => id)).toEqual(['x'.repeat(32)]);
  });

  const canary = `${'C'.repeat(42)}A=`;
  test.each([
    ['no id', canary, 'entry 1 must have the form id:base64'],
    ['a third part', `old:${old}:x`, 'entry 1 must have the form id:base64'],
    ['an empty entry', `old:${old},`, 'entry 2 must have the form id:base64'],
    ['a long id', `${'x'.repeat(33)}:${old}`, 'entry 1 must have an id of 1 to 32 letters, digits, ".", "_" or "-"'],
    ['key and id swapped', `${canary}:old`, 'entry 1 must have an id of 1 to 32 letters, digits, ".", "_" or "-"'],
    ['a space', `old:${old}, next:${next}`, 'entry 2 must have an id of 1 to 32 letters, digits, ".", "_" or "-"'],
    ['an id twice', `old:${old},old:${canary}`, 'entry 2 repeats the id of another entry'],
    ['a short key', `old:${Buffer.alloc(31).toString('base64')}`, 'entry 1 must have a key of 32 bytes, not 31'],
    ['a long key', `old:${Buffer.alloc(33).toString('base64')}`, 'entry 1 must have a key of 32 bytes, not 33'],
    ['no key', 'old:', 'entry 1 must have a key of 32 bytes, not 0'],
    ['no padding', `old:${canary.slice(0, -1)}`, 'entry 1 must have its key in padded base64'],
    ['spare bits', `old:${'C'.repeat(42)}B=`, 'entry 1 must have its key in padded base64'],
    ['base64url', `old:${'_'.repeat(42)}8=`, 'entry 1 must have its key in padded base64'],
    ['a line break inside', `old:${old.slice(0, 20)}\n${old.slice(20)}`, 'entry 1 must have its key in padded base64'],
  ])('refused with one line that does not contain the value: %s', (_, text, message) => {
    expect(() => parseEncryptionKeys(text)).toThrow(new Error(message));
  });
});

describe('key file', () => {
  let directory: string;
  let path: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'key-file-'));
    path = join(directory, 'encryption-keys');
  });
  afterEach(() => rm(directory, { recursive: true }));

  test('a missing file is created with one key, is readable only by its owner, and is read again later', async () => {
    const [created, ...more] = await loadOrCreateKeyFile(path);
    expect(more).toEqual([]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toBe(`${created?.id}:${created?.key.export().toString('base64')}\n`);
    const [loaded] = await loadOrCreateKeyFile(path);
    expect([loaded?.id, loaded?.key.export()]).toEqual([created?.id, created?.key.export()]);
    expect(await readdir(directory)).toEqual(['encryption-keys']);
  });

  test('processes that start while the file is being created all get the same key', async () => {
    const rounds = full ? 100 : 10;
    for (const round of Array.from({ length: rounds }).keys()) {
      const [file, starters] = [`${path}-${round}`, [loadOrCreateKeyFile(`${path}-${round}`)]];
      while (!existsSync(file) && starters.length < 8) {
        await setImmediate();
        starters.push(loadOrCreateKeyFile(file));
      }
      const found = (await Promise.all(starters)).flat();
      const keys = found.map(({ id, key }) => `${id}:${key.export().toString('base64')}\n`);
      expect(new Set(keys)).toEqual(new Set([await readFile(file, 'utf8')]));
    }
    expect(await readdir(directory)).toHaveLength(rounds);
  });

  test('an existing file is read without a change of its directory, which may be read-only', async () => {
    await loadOrCreateKeyFile(path);
    await utimes(directory, 1, 1);
    await loadOrCreateKeyFile(path);
    expect((await stat(directory)).mtimeMs).toBe(1000);
  });

  test('the error of a file that cannot be created names the reason', async () => {
    const draft = expect.stringContaining(join(directory, 'missing', 'keys.'));
    await expect(loadOrCreateKeyFile(join(directory, 'missing', 'keys'))).rejects.toMatchObject({
      code: 'ENOENT',
      syscall: 'open',
      path: draft,
    });
  });

  test('two files never share a key or an id', async () => {
    const [[one], [two]] = [await loadOrCreateKeyFile(path), await loadOrCreateKeyFile(`${path}2`)];
    expect(one?.id).not.toBe(two?.id);
    expect(one?.key.equals(two?.key ?? one.key)).toBe(false);
  });

  test.each([0o640, 0o604, 0o620, 0o601, 0o666])('refused: mode %o', async (mode) => {
    await loadOrCreateKeyFile(path);
    await chmod(path, mode);
    await expect(loadOrCreateKeyFile(path)).rejects.toEqual(
      new Error(`key file ${path} must be closed to group and others (chmod 600)`),
    );
  });

  test.each([
    ['empty', '', 'entry 1 must have the form id:base64'],
    ['cut short', `a:${'C'.repeat(20)}`, 'entry 1 must have a key of 32 bytes, not 15'],
  ])('refused and not changed: %s', async (_, text, message) => {
    await writeFile(path, text, { mode: 0o600 });
    await expect(loadOrCreateKeyFile(path)).rejects.toEqual(
      new Error(`key file ${path}: ${message}`, { cause: new Error(message) }),
    );
    expect(await readFile(path, 'utf8')).toBe(text);
  });
});

test('no printed box, key or error contains plaintext or key bytes', async () => {
  const keys = parseEncryptionKeys(`old:${BYTES.old.toString('base64')}`);
  const subject = createSecretBox(keys);
  const sealed = await subject.seal('canary', PLACE);
  const failures = await Promise.all(
    [
      subject.seal('canary\uDFFF', PLACE),
      subject.open('canary', PLACE),
      subject.open(`${sealed}canary`, PLACE),
      subject.open(sealed, { ...PLACE, row: 'other' }),
      createSecretBox([NEXT]).open(sealed, PLACE),
      subject.open(`${Buffer.from('canary').toString('base64url')}....`, PLACE),
    ].map((attempt) => attempt.catch((error: unknown) => error)),
  );
  const shown = [keys, subject, ...failures]
    .flatMap((value) => [inspect(value, { depth: Infinity, showHidden: true }), JSON.stringify(value), String(value)])
    .join('\n');
  const bytes = BYTES.old;
  const forms = ['canary', ...(['base64', 'base64url', 'hex', 'latin1'] as const).map((form) => bytes.toString(form))];
  const dumps = [bytes.join(','), bytes.join(', '), bytes.toString('hex').replace(/(..)(?!$)/g, '$1 ')];
  expect([...forms, ...dumps].filter((form) => shown.includes(form))).toEqual([]);
});
