// A cluster of Citus that `CITUS_URL` names: its coordinator, and a database to which the workers have been added.
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { checkout } from './embedded-postgres.ts';

export const DISTRIBUTE = `${checkout}/deploy/citus.sql`;
export const UNDO = `${checkout}/deploy/citus-undo.sql`;

/** The URL of the coordinator, for a superuser. */
export function citusUrl(): string {
  const url = process.env['CITUS_URL'];
  if (url) return url;
  throw new Error(
    'CITUS_URL is not set: name the coordinator of a cluster of Citus, with a database to which its workers have been added (docs/storage.md, "Sharding")',
  );
}

/** The URLs of the workers, with the role and password of the coordinator. */
export async function workersOf(coordinatorUrl: string): Promise<string[]> {
  const nodes = await rows<{ name: string; port: number }>(
    coordinatorUrl,
    'select node_name as name, node_port as port from citus_get_active_worker_nodes() order by 2',
  );
  if (nodes.length === 0) throw new Error('the database of CITUS_URL has no workers: add them with citus_add_node');
  return nodes.map(({ name, port }) => {
    const url = new URL(coordinatorUrl);
    url.hostname = name;
    url.port = String(port);
    return url.href;
  });
}

/** Adds the nodes of the cluster to a database that exists on each of them. */
export async function addNodes(coordinatorUrl: string, workerUrls: readonly string[]): Promise<void> {
  for (const url of [coordinatorUrl, ...workerUrls]) await rows(url, 'create extension citus');
  const { hostname, port } = new URL(coordinatorUrl);
  await rows(coordinatorUrl, 'select citus_set_coordinator_host($1, $2::int)', [hostname, port]);
  for (const { hostname: name, port: at } of workerUrls.map((url) => new URL(url)))
    await rows(coordinatorUrl, 'select citus_add_node($1, $2::int)', [name, at]);
}

/** Runs a file as `psql --single-transaction` does. */
export async function runFile(url: string, file: string): Promise<void> {
  await rows(url, `begin; ${await readFile(file, 'utf8')}; commit`);
}

export async function rows<Row extends object>(url: string, text: string, values?: readonly unknown[]): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(text, values && [...values])).rows;
  } finally {
    await client.end();
  }
}
