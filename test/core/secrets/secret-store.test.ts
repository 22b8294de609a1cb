import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  SECRET_COLUMN,
  StoredSecret,
  readSecrets,
  rotateColumn,
  storeSecret,
} from '../../../src/core/secrets/secret-store.ts';
import { type SecretBox, createSecretBox, parseEncryptionKeys } from '../../../src/core/secrets/secrets.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway();
beforeEach(() => em().nativeDelete(StoredSecret, {}));

const em = () => gateway.dependencies.database.em.fork();
const [A, B] = ['a', 'b'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [string, string];
const box = (...keys: string[]): SecretBox => createSecretBox(parseEncryptionKeys(keys.join(',')));
const owner = (id: string = randomUUID()) => ({ table: 'mcp_connection', id, organizationId: randomUUID() });
const store = (by: SecretBox, of: ReturnType<typeof owner>, field: string, secret: string) =>
  em().transactional((transaction) => storeSecret(transaction, by, of, field, secret));
const read = async (by: SecretBox, of: { table: string; id: string }) =>
  Object.fromEntries(await readSecrets(em(), by, of));
const staleIn = async (by: SecretBox) =>
  (await em().find(StoredSecret, {})).filter(({ sealed }) => by.isStale(sealed)).length;

describe('storing and reading', () => {
  test('a secret is stored encrypted, separately for each row and field, and a later value replaces it', async () => {
    const [one, two] = [owner(), owner()];
    await store(box(A), one, 'env.TOKEN', 'first-plaintext');
    await store(box(A), one, 'env.TOKEN', 'second-plaintext');
    await store(box(A), one, 'clientSecret', 'ünïcode-plaintext 😀\n');
    await store(box(A), two, 'env.TOKEN', 'other-plaintext');
    expect(await read(box(A), one)).toEqual({
      'env.TOKEN': 'second-plaintext',
      clientSecret: 'ünïcode-plaintext 😀\n',
    });
    expect(await read(box(A), two)).toEqual({ 'env.TOKEN': 'other-plaintext' });
    expect(await read(box(A), owner())).toEqual({});
    const dump = await dumpTables(gateway);
    expect([dump.includes('clientSecret'), dump.includes('plaintext')]).toEqual([true, false]);
  });

  test('storing is part of the transaction of the caller: a rollback restores the earlier secret', async () => {
    const of = owner();
    await store(box(A), of, 'f', 'kept');
    const failing = em().transactional(async (transaction) => {
      await storeSecret(transaction, box(A), of, 'f', 'lost');
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await read(box(A), of)).toEqual({ f: 'kept' });
  });

  test('a ciphertext of another row, field or table is refused, and the message contains only the location', async () => {
    const [one, two] = [owner(), owner()];
    await store(box(A), one, 'f', 'plaintext-1');
    await store(box(A), one, 'g', 'plaintext-2');
    await store(box(A), two, 'f', 'plaintext-3');
    await store(box(A), { ...two, table: 'session' }, 'f', 'plaintext-4');
    const moved = 'holds a value that was sealed for another place';
    const swap = async (from: object, to: object) => {
      const source = await em().findOneOrFail(StoredSecret, from);
      await em().nativeUpdate(StoredSecret, to, { sealed: source.sealed });
    };
    await swap({ ownerId: two.id, ownerTable: 'mcp_connection' }, { ownerId: one.id, field: 'f' });
    await expect(read(box(A), one)).rejects.toThrow(`Secret mcp_connection/${one.id}/f ${moved}`);
    await swap({ ownerId: one.id, field: 'g' }, { ownerId: one.id, field: 'f' });
    await expect(read(box(A), one)).rejects.toThrow(`Secret mcp_connection/${one.id}/f ${moved}`);
    await swap({ ownerId: two.id, ownerTable: 'session' }, { ownerId: two.id, ownerTable: 'mcp_connection' });
    await expect(read(box(A), two)).rejects.toThrow(`Secret mcp_connection/${two.id}/f ${moved}`);
  });
});

describe('rotation', () => {
  /** More than two batches of 200. */
  const COUNT = 450;
  async function fill(): Promise<ReturnType<typeof owner>[]> {
    const owners = Array.from({ length: COUNT / 3 }, () => owner());
    await em().transactional(async (transaction) => {
      for (const of of owners)
        for (const field of ['f', 'g', 'h']) await storeSecret(transaction, box(A), of, field, `${of.id} ${field}`);
    });
    return owners;
  }

  test('encrypts everything again with the first key, in batches; a second run changes nothing', async () => {
    const owners = await fill();
    gateway.statements.length = 0;
    expect(await rotateColumn(em(), box(B, A), SECRET_COLUMN)).toBe(COUNT);
    expect(gateway.statements.filter((statement) => /commit/i.test(statement))).toHaveLength(3);
    for (const of of owners.slice(0, 20))
      expect(await read(box(B), of)).toEqual({ f: `${of.id} f`, g: `${of.id} g`, h: `${of.id} h` });
    expect(await staleIn(box(B))).toBe(0);
    const before = await dumpTables(gateway);
    expect(await rotateColumn(em(), box(B, A), SECRET_COLUMN)).toBe(0);
    expect(await dumpTables(gateway)).toBe(before);
  });

  test('stops at a secret that cannot be decrypted and reports it; earlier batches are kept, and after a repair it continues', async () => {
    await fill();
    const last = (
      await em().find(StoredSecret, {}, { orderBy: { ownerTable: 'asc', ownerId: 'asc', field: 'asc' } })
    ).at(-1);
    const { ownerId = '', field = '', sealed = '' } = last ?? {};
    await em().nativeUpdate(StoredSecret, { ownerId, field }, { sealed: `${sealed.slice(0, -6)}AAAAAA` });
    await expect(rotateColumn(em(), box(B, A), SECRET_COLUMN)).rejects.toThrow(
      `Secret mcp_connection/${ownerId}/${field} was altered`,
    );
    expect(await staleIn(box(B))).toBe(COUNT - 400);
    await em().nativeUpdate(StoredSecret, { ownerId, field }, { sealed });
    expect(await rotateColumn(em(), box(B, A), SECRET_COLUMN)).toBe(COUNT - 400);
    expect(await staleIn(box(B))).toBe(0);
  });

  test('reports a missing key; two concurrent rotations with concurrent writes lose nothing', async () => {
    const owners = await fill();
    await expect(rotateColumn(em(), box(B), SECRET_COLUMN)).rejects.toThrow(
      'is sealed under a key "a", which is not among the encryption keys',
    );
    const writes = owners.slice(0, 30).map((of) => store(box(B, A), of, 'f', 'written meanwhile'));
    const [first, second] = await Promise.all([
      rotateColumn(em(), box(B, A), SECRET_COLUMN),
      rotateColumn(em(), box(B, A), SECRET_COLUMN),
      ...writes,
    ]);
    expect((first ?? 0) + (second ?? 0)).toBeLessThanOrEqual(COUNT);
    expect(await staleIn(box(B))).toBe(0);
    for (const of of owners.slice(0, 30))
      expect(await read(box(B), of)).toEqual({ f: 'written meanwhile', g: `${of.id} g`, h: `${of.id} h` });
  });
});
