import { setTimeout } from 'node:timers/promises';
import type { TestGateway } from './gateway.ts';

interface OpenTransaction {
  readonly begun: string;
  readonly statement: string;
}

/**
 * The last statements of transactions that a gateway leaves open and idle: those seen in each of 20 looks, 50 ms apart. Jobs, and twins that
 * look whether they are answered by now, have a short one open at any time.
 */
export async function heldTransactions({ dependencies: { sql } }: TestGateway): Promise<string[]> {
  let held: OpenTransaction[] | undefined;
  for (let look = 0; look < 20; look += 1) {
    const open = await sql.query<OpenTransaction>(
      `select pid || ' ' || xact_start as begun, query as statement from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
      [],
    );
    held = (held ?? open).filter(({ begun }) => open.some((other) => other.begun === begun));
    if (held.length === 0) return [];
    await setTimeout(50);
  }
  return (held ?? []).map(({ statement }) => statement);
}
