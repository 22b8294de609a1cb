import type { ClientBase } from 'pg';
import pg from 'pg';
import { prepareValue } from 'pg/lib/utils.js';

/** What PostgreSQL reads for a statement, by the plan that it makes once for all values (generic), and by the one for these values (custom). */

export interface RecordedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export type PlanMode = 'force_generic_plan' | 'force_custom_plan';

export interface Measured {
  /** Rows of tables and indexes that were read, also those that did not meet a condition. */
  readonly rows: number;
  readonly blocks: number;
  /** The tables that were read. */
  readonly tables: readonly string[];
  readonly plan: PlanNode;
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function rowsOf(node: PlanNode): number {
  if (node['Relation Name'] === undefined) return 0;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (node['Actual Rows'] + removed) * node['Actual Loops'];
}

/** Runs a reading statement as a prepared one, with one of the two plans. */
export async function measurePlan(
  client: ClientBase,
  { text, values }: RecordedStatement,
  mode: PlanMode,
): Promise<Measured> {
  await client.query(`set plan_cache_mode = ${mode}; prepare measured as ${text}`);
  try {
    const given = values.length > 0 ? `(${values.map(literalOf).join(', ')})` : '';
    const { rows } = await client.query<{ 'QUERY PLAN': [{ readonly Plan: PlanNode }] }>(
      `explain (analyze, buffers, timing off, summary off, format json) execute measured${given}`,
    );
    const [{ Plan: plan } = { Plan: undefined }] = rows[0]?.['QUERY PLAN'] ?? [];
    if (!plan) throw new Error(`no plan of ${text}`);
    const nodes = nodesOf(plan);
    return {
      rows: nodes.reduce((sum, node) => sum + rowsOf(node), 0),
      blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
      tables: [...new Set(nodes.flatMap((node) => node['Relation Name'] ?? []))],
      plan,
    };
  } finally {
    await client.query('deallocate measured');
  }
}

function literalOf(value: unknown): string {
  const prepared = prepareValue(value);
  if (prepared === null) return 'null';
  return pg.escapeLiteral(Buffer.isBuffer(prepared) ? `\\x${prepared.toString('hex')}` : prepared);
}
