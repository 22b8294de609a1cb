import { setImmediate as phase } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { settleChanges } from '../../src/core/authority.ts';
import { explore, seed } from '../support/exploration.ts';
import {
  ADMIN_CHANGES,
  CHANGES,
  type Change,
  LOSSES,
  type ChangeTargets,
  createChangeTargets,
  statusOf,
  endRights,
} from '../support/fixtures/changes.ts';
import { type TestGateway, useTestGateway } from '../support/fixtures/gateway.ts';
import { full, proof } from '../support/proof.ts';
import { sampledRuns } from '../support/sample.ts';

/**
 * Takes the rights of a caller at a random moment of requests that are sent at random speeds. After the answer to that,
 * none of the requests commits a change. Time is counted in phases of the event loop, so that a case can be repeated.
 */

const CASES = full ? 3_000 : sampledRuns(60, 15);

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;

const gateway = useTestGateway();
let admin: Issued;
let place: ChangeTargets;
const totals = { requests: 0, done: 0, refused: 0 };

beforeAll(async () => {
  admin = await gateway.createKey();
  place = await createChangeTargets(gateway, admin);
});

const changes = { ...CHANGES, ...ADMIN_CHANGES };
const MAX_PHASES = 60;

/** How a request is sent: when it begins, and how long it pauses before each piece of its body. */
const requestWith = (names: readonly string[]) =>
  fc.record({
    change: fc.constantFrom(...names),
    start: fc.nat(MAX_PHASES),
    pauses: fc.array(fc.nat(MAX_PHASES / 2), { minLength: 1, maxLength: 6 }),
  });

const round = fc.constantFrom(...LOSSES).chain((loss) =>
  fc.record({
    loss: fc.constant(loss),
    at: fc.nat(MAX_PHASES * 2),
    // A demoted administrator is a member, who may still make all other changes.
    requests: fc.array(requestWith(Object.keys(loss === 'demoted' ? ADMIN_CHANGES : changes)), {
      minLength: 1,
      maxLength: 8,
    }),
  }),
);

async function phases(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await phase();
}

/** Sends the body in as many pieces as there are pauses. */
async function send(key: string, { method, path, body, headers }: Change, pauses: readonly number[]): Promise<number> {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const size = Math.ceil(bytes.length / pauses.length);
  let piece = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await phases(pauses[piece] ?? 0);
        controller.enqueue(bytes.subarray(piece * size, (piece + 1) * size));
        piece += 1;
        if (piece * size >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const init = {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: stream,
    duplex: 'half',
  };
  return statusOf(await gateway.fetch(path, init));
}

async function changesOf({ keyId }: Issued): Promise<unknown[]> {
  return gateway.dependencies.sql.query(
    'select operation, target_id from audit_entry where key_id = $1 and refusal is null order by occurred_at, id',
    [keyId],
  );
}

test('no change is committed after the end of its caller’s rights is acknowledged', async () => {
  await explore(CASES, round, async ({ loss, at, requests }) => {
    const caller = await gateway.createKey({ organization: admin.organization, role: 'admin' });
    const { userId: memberId } = await gateway.createKey({ organization: admin.organization, role: 'member' });
    const sent = requests.map(async ({ change, start, pauses }) => {
      const made = changes[change]?.({ ...place, memberId });
      if (!made) throw new Error(change);
      await phases(start);
      return send(caller.key, made, pauses);
    });
    await phases(at);
    await endRights(gateway, admin.key, loss, caller);
    // An expiry has no answer, so the test waits for earlier changes as the other operations do before theirs.
    if (loss === 'expired') await settleChanges(gateway.dependencies.sql, [caller.userId]);
    const acknowledged = await changesOf(caller);
    const statuses = await Promise.all(sent);
    expect(await changesOf(caller)).toEqual(acknowledged);
    // Later requests are refused, without an internal error: 404 because a removed member cannot see the organization.
    expect(statuses.filter((status) => ![200, 201, 204, 401, 403, 404].includes(status))).toEqual([]);
    totals.requests += statuses.length;
    totals.done += acknowledged.length;
    totals.refused += statuses.filter((status) => status > 400).length;
  });
  // Without both outcomes, the requests would not have raced with the loss of rights.
  expect(Math.min(totals.done, totals.refused)).toBeGreaterThan(totals.requests / 10);
  proof('Revocation races', {
    figures: {
      seed,
      'rights ended': CASES,
      'requests under way': totals.requests,
      'changes committed before the acknowledgment': totals.done,
      'requests refused': totals.refused,
      'changes committed after the acknowledgment': 0,
    },
  });
});
