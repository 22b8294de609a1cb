import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { EventDefinitionId, EventPropertyId, OrganizationId } from '../../core/ids.ts';
import { type Readable, anyOf, listOf } from '../../core/postgres/reading/queries.ts';
import type { EventDefinitionTables } from './entity.ts';
import type { PropertyOption, PropertyType } from './property-types.ts';

/** The statements that apply a tracking plan. Rows are sent as one array per column, so that their number does not change the text. */

const tables = (em: EntityManager) => em.getKysely<Readable<EventDefinitionTables>>();

export interface PlannedPropertyRow {
  readonly definitionId: EventDefinitionId;
  readonly name: string;
  readonly label: string;
  readonly type: PropertyType;
  readonly description: string | null;
  readonly options: readonly PropertyOption[];
}

export interface ComparedProperty {
  readonly id: EventPropertyId;
  readonly definitionId: EventDefinitionId;
  readonly name: string;
  readonly type: PropertyType;
  readonly position: number;
  readonly createdAt: string;
  /** Whether it is as planned. False if it is not planned. */
  readonly isSame: boolean;
}

/**
 * The stored properties of definitions, each with whether it is as planned. They are compared in the database, because the options of one
 * property can be megabytes.
 */
export async function compareProperties(
  em: EntityManager,
  organizationId: OrganizationId,
  definitionIds: readonly EventDefinitionId[],
  planned: readonly PlannedPropertyRow[],
): Promise<ComparedProperty[]> {
  if (definitionIds.length === 0) return [];
  const rows = await tables(em)
    .selectFrom('event_property as p')
    .leftJoin(plannedRows(planned), (join) =>
      join.onRef('w.definition_id', '=', 'p.definition_id').onRef('w.name', '=', 'p.name'),
    )
    .select(['p.id', 'p.definition_id as definitionId', 'p.name', 'p.type', 'p.position', 'p.created_at as createdAt'])
    .select(
      sql<boolean>`(w.name is not null and p.label = w.label and p.type = w.type and p.description is not distinct from w.description and ${shownOptions(sql`p.options`)} is not distinct from ${shownOptions(sql`w.options`)})`.as(
        'isSame',
      ),
    )
    .where('p.organization_id', '=', organizationId)
    .where('p.definition_id', '=', anyOf('uuid', definitionIds))
    .execute();
  return rows;
}

/** Options as answers have them: an absent display order is the position, an absent description is empty. */
const shownOptions = (options: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select jsonb_agg(jsonb_build_array(o->>'label', o->>'value', coalesce((o->>'displayOrder')::int, n::int - 1), coalesce((o->>'hidden')::boolean, false), coalesce(o->>'description', '')) order by n) from jsonb_array_elements(${options}) with ordinality as shown(o, n))`;

type Planned = Readonly<Record<'definition_id' | 'name' | 'label' | 'type' | 'description' | 'options', string>>;

const plannedRows = (planned: readonly PlannedPropertyRow[]) =>
  sql<Planned>`(select definition_id, name, label, type, description, options::jsonb as options from unnest(${sql.join(listsOf(planned))}) as u(definition_id, name, label, type, description, options))`.as<'w'>(
    sql`w`,
  );

function listsOf(rows: readonly PlannedPropertyRow[]): RawBuilder<unknown>[] {
  const values = <Name extends keyof PlannedPropertyRow>(name: Name) => rows.map((row) => row[name]);
  return [
    listOf('uuid', values('definitionId')),
    listOf('text', values('name')),
    listOf('text', values('label')),
    listOf('text', values('type')),
    listOf('text', values('description')),
    listOf(
      'text',
      values('options').map((options) => JSON.stringify(options)),
    ),
  ];
}

export async function deleteProperties(
  em: EntityManager,
  organizationId: OrganizationId,
  ids: readonly EventPropertyId[],
): Promise<void> {
  if (ids.length === 0) return;
  await tables(em)
    .deleteFrom('event_property')
    .where('organization_id', '=', organizationId)
    .where('id', '=', anyOf('uuid', ids))
    .execute();
}

export interface NewPropertyRow extends PlannedPropertyRow {
  readonly id: string;
  readonly position: number;
  readonly createdAt: string;
}

export async function insertProperties(
  em: EntityManager,
  organizationId: OrganizationId,
  rows: readonly NewPropertyRow[],
  at: Date,
): Promise<void> {
  if (rows.length === 0) return;
  const db = tables(em);
  const lists = [
    ...listsOf(rows),
    listOf(
      'uuid',
      rows.map(({ id }) => id),
    ),
    listOf(
      'bigint',
      rows.map(({ position }) => position),
    ),
    listOf(
      'timestamptz',
      rows.map(({ createdAt }) => createdAt),
    ),
  ];
  await db
    .insertInto('event_property')
    .columns([...COPIED, 'options', 'position', 'organization_id', 'updated_at'])
    .expression(
      db
        .selectFrom(
          sql<
            Readonly<Record<keyof Planned | 'id' | 'position' | 'created_at', string>>
          >`unnest(${sql.join(lists)})`.as<'n'>(
            sql`n(definition_id, name, label, type, description, options, id, position, created_at)`,
          ),
        )
        .select(COPIED.map((name) => `n.${name}` as const))
        .select([sql`n.options::jsonb`.as('options'), sql`n.position::int`.as('position')])
        .select([sql`${organizationId}::uuid`.as('organization_id'), sql`${at}::timestamptz`.as('updated_at')]),
    )
    .execute();
}

const COPIED = ['definition_id', 'name', 'label', 'type', 'description', 'id', 'created_at'] as const;
