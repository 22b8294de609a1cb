import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { rotateColumn } from '../../../src/core/secrets/secret-store.ts';
import { createSecretBox, parseEncryptionKeys } from '../../../src/core/secrets/secrets.ts';
import { ANSWER_COLUMN } from '../../../src/gateway/idempotency/entity.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { send, startSecondGateway } from '../../support/fixtures/second-gateway.ts';

const keyOf = (id: string) => parseEncryptionKeys(`${id}:${randomBytes(32).toString('base64')}`);
const [OLD, NEXT] = [keyOf('old'), keyOf('next')];

const gateway = useOwnGateway();

/** Sends three requests, each with its own idempotency key, to a gateway with these encryption keys on the same database. */
async function answersUnder(keys: typeof OLD, key: string) {
  const secrets = createSecretBox(keys);
  const peer = await startSecondGateway({ ...gateway, dependencies: { ...gateway.dependencies, secrets } });
  const answers = [];
  for (const input of ['one', 'two', 'three'].map((name) => ({ name }))) {
    const headers = { 'Idempotency-Key': JSON.stringify(input), 'Content-Type': 'application/json' };
    const answer = await send(peer, 'POST', '/v1/organizations', { key, headers, body: JSON.stringify(input) });
    answers.push({ status: answer.status, text: answer.text, isReplayed: answer.headers.has('Idempotent-Replayed') });
  }
  await peer.close();
  return answers;
}

test('stored answers are encrypted again with the new key and can then be replayed without the old key', async () => {
  const { key } = await gateway.createKey();
  const { database, sql } = gateway.dependencies;
  const first = await answersUnder(OLD, key);
  expect(first.map(({ status, isReplayed }) => `${status} ${isReplayed}`)).toEqual(Array(3).fill('201 false'));
  // More rows than fit into two batches: requests that still run, and answers that cannot be decrypted, which must not change.
  await sql.query(
    `insert into idempotency_key (user_id, digest, fingerprint, scopes, claim, answer, created_at, expires_at)
      select user_id, digest || n, fingerprint, scopes, claim, case when n % 2 = 0 then 'altered' end, created_at, expires_at
      from idempotency_key, generate_series(1, 300) n`,
    [],
  );
  const both = createSecretBox([...NEXT, ...OLD]);
  expect(await rotateColumn(database.em.fork(), both, ANSWER_COLUMN)).toBe(3);
  expect(await rotateColumn(database.em.fork(), both, ANSWER_COLUMN)).toBe(0);
  expect(await answersUnder(NEXT, key)).toEqual(first.map((answer) => ({ ...answer, isReplayed: true })));
  expect(await sql.query(`select 1 from idempotency_key where answer = 'altered'`, [])).toHaveLength(450);
});
