import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Link } from './check.ts';
import type { PropertyValue } from './values.ts';

/** The statements of a sending transaction. Lists go as one JSON text each, so that a statement is the same for any number of rows. */

type Work = Pick<OperationContext, 'em' | 'now'>;

/** An occurrence as its row; JSON leaves out what is undefined, and a missing field is null. */
export interface NewOccurrence {
  readonly id: string;
  readonly definitionId: string;
  readonly occurredAt: string;
  readonly email: string | undefined;
  readonly utk: string | undefined;
  readonly objectId: string | undefined;
  readonly uuid: string | undefined;
  readonly properties: Readonly<Record<string, PropertyValue>>;
}

/** The objects that have these values, by `keyOf` the link. */
export async function findObjects(
  { em }: Work,
  organizationId: string,
  links: readonly Link[],
): Promise<Map<string, string>> {
  if (links.length === 0) return new Map();
  const rows = await em.execute<(Link & { objectId: string })[]>(
    `select i.object_type as "objectType", i.property_name as "propertyName", i.value, i.object_id as "objectId"
      from json_to_recordset(?::json) as w ("objectType" text, "propertyName" text, value text)
      join object_identifier i on i.organization_id = ? and i.object_type = w."objectType" and i.property_name = w."propertyName" and i.value = w.value`,
    [JSON.stringify(links), organizationId],
  );
  return new Map(rows.map((row) => [keyOf(row), row.objectId]));
}

export function keyOf({ objectType, propertyName, value }: Link): string {
  return JSON.stringify([objectType, propertyName, value]);
}

export interface Sent {
  readonly definitionId: string;
  readonly uuid: string;
}

/**
 * Claims uuids for a year, each of which must stand in the list once. Whoever claims one first holds it until the end of its transaction,
 * and the others wait for that; they all go in one order, so that none waits in a circle.
 * @returns those that were free.
 */
export async function claimUuids({ em, now }: Work, organizationId: string, uuids: readonly Sent[]): Promise<Sent[]> {
  if (uuids.length === 0) return [];
  const at = now();
  const expiresAt = new Date(at);
  expiresAt.setUTCFullYear(at.getUTCFullYear() + 1);
  return em.execute<Sent[]>(
    `insert into event_occurrence_uuid as known (definition_id, uuid, organization_id, expires_at)
      select "definitionId", uuid, ?::uuid, ?::timestamptz from json_to_recordset(?::json) as s ("definitionId" uuid, uuid uuid) order by 1, 2
      on conflict (definition_id, uuid) do update set expires_at = excluded.expires_at where known.expires_at <= ?::timestamptz
      returning definition_id as "definitionId", uuid`,
    [organizationId, expiresAt, JSON.stringify(uuids), at],
  );
}

/** Deletes a batch of the uuids whose year is over. @returns how many. */
export async function deleteExpiredUuids(em: EntityManager, at: Date, batch: number): Promise<number> {
  const deleted = await em.execute<unknown[]>(
    `delete from event_occurrence_uuid where (definition_id, uuid) in
      (select definition_id, uuid from event_occurrence_uuid where expires_at <= ? order by expires_at limit ${batch} for update skip locked)
      returning 1`,
    [at],
  );
  return deleted.length;
}

/**
 * Adds to the count of the organization's month (in UTC). The row is held until the end of the transaction, so the limit is exact.
 * @throws DomainError 429 with `Retry-After` when the month would then exceed `limit`; 0 is none.
 */
export async function countOccurrences(
  { em, now }: Work,
  organizationId: string,
  added: number,
  limit: number,
): Promise<void> {
  if (added === 0) return;
  const at = now();
  const counted = await em.execute<unknown[]>(
    `insert into monthly_occurrence_count as month (organization_id, month, count)
      select ?::uuid, ?, n from (select ?::bigint as n, ?::bigint as most) as given where most = 0 or n <= most
      on conflict (organization_id, month) do update set count = month.count + excluded.count
        where ?::bigint = 0 or month.count + excluded.count <= ?::bigint
      returning 1`,
    [organizationId, monthOf(at), added, limit, limit, limit],
  );
  if (counted.length === 0) throw overLimit(limit, at);
}

/** `YYYY-MM` in UTC. */
export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7);
}

export function nextMonth(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
}

function overLimit(limit: number, at: Date): DomainError {
  const next = nextMonth(at);
  const message = `the organization may send ${limit} event occurrences a month, and these would be more; the next month begins at ${next.toISOString()}`;
  const seconds = Math.ceil((next.getTime() - at.getTime()) / 1000);
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': String(seconds) } });
}

export async function storeOccurrences(
  { em, now }: Work,
  organizationId: string,
  occurrences: readonly NewOccurrence[],
): Promise<void> {
  if (occurrences.length === 0) return;
  await em.execute(
    `insert into event_occurrence (definition_id, occurred_at, id, organization_id, received_at, email, utk, object_id, uuid, properties)
      select "definitionId", "occurredAt", id, ?::uuid, ?::timestamptz, email, utk, "objectId", uuid, properties
      from json_to_recordset(?::json) as o (id uuid, "definitionId" uuid, "occurredAt" timestamptz, email text, utk text, "objectId" text, uuid uuid, properties json)`,
    [organizationId, now(), JSON.stringify(occurrences)],
  );
}
