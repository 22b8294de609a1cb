import { sql } from 'kysely';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { groupBy } from '../../core/arrays.ts';
import type { EventDefinitionId, OrganizationId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  type Readable,
  type RowOf,
  anyOf,
  columns,
  packedRows,
  prepared,
  preparedByShape,
  queriesOn,
} from '../../core/postgres/reading/queries.ts';
import { completeParents } from '../../core/postgres/reading/pages.ts';
import { type Columns, withColumns } from '../../core/postgres/reading/columns.ts';
import { EVENT_PROPERTY_COLUMNS, type EventDefinitionTables, type EventProperty } from './entity.ts';

const db = queriesOn<EventDefinitionTables>();

/**
 * A custom or default property, identified by its definition and its name. A row has the selected columns only; without
 * a selection it has all columns.
 */
export type EventPropertyRow = Omit<RowOf<Readable<EventDefinitionTables>['event_property']>, 'id' | 'organizationId'>;

const PROPERTY_COLUMNS = EVENT_PROPERTY_COLUMNS.filter((name) => name !== 'id' && name !== 'organizationId');

/** An expression that packs the properties of a definition into one value, in order of creation. */
export function packedProperties(asked: Columns<EventPropertyRow>) {
  const names = withColumns<EventPropertyRow>(asked, PROPERTY_COLUMNS);
  return { names, ...packedRows<EventPropertyRow>('p', names, { moments: MOMENTS, orderBy: 'position' }) };
}

const MOMENTS = ['createdAt', 'updatedAt'] as const;

const propertiesByDefinition = preparedByShape<
  { readonly organizationId: OrganizationId; readonly ids: readonly EventDefinitionId[] },
  { readonly names: readonly (keyof EventPropertyRow)[] }
>()((value, { names }) =>
  db
    .selectFrom('event_property as p')
    .select(columns('p', names))
    .where('p.organization_id', '=', sql<string>`${value('organizationId')}`)
    .where('p.definition_id', '=', anyOf('uuid', value('ids'))),
);

/**
 * The custom properties of definitions that the caller can see, by definition id, in order of creation. They are sorted here, because
 * PostgreSQL takes as long to sort them as to read them.
 */
export const customPropertiesOf =
  (
    { actor, sql: reader }: OperationContext,
    asked?: Columns<EventPropertyRow>,
  ): LoadBatch<EventDefinitionId, readonly EventPropertyRow[]> =>
  async (ids) => {
    const names = withColumns<EventPropertyRow>(asked, PROPERTY_COLUMNS, 'definitionId', 'position');
    const rows = await reader.all(
      propertiesByDefinition({ names }, { organizationId: requireOrganization(actor).id, ids }),
    );
    const found = groupBy(rows, ({ definitionId }) => definitionId);
    for (const properties of found.values()) properties.sort((a, b) => a.position - b.position);
    return found;
  };

const propertiesInOrder = prepared<{
  readonly organizationId: OrganizationId;
  readonly ids: readonly EventDefinitionId[];
}>()((value) =>
  db
    .selectFrom('event_property as p')
    .select(columns('p', PROPERTY_COLUMNS))
    .where('p.organization_id', '=', sql<string>`${value('organizationId')}`)
    .where('p.definition_id', '=', anyOf('uuid', value('ids')))
    .orderBy(sql`array_position(${value('ids')}::uuid[], p.definition_id)`)
    .orderBy('p.position'),
);

/**
 * The custom properties of definitions that the caller can see, and the number of definitions, from the first, of which
 * they were read completely: reading ends at the maximum size of a page.
 */
export async function firstCustomPropertiesOf(
  { actor, sql: reader }: OperationContext,
  ids: readonly EventDefinitionId[],
): Promise<{
  readonly properties: ReadonlyMap<EventDefinitionId, readonly EventPropertyRow[]>;
  readonly complete: number;
}> {
  const read = await reader.page(propertiesInOrder({ organizationId: requireOrganization(actor).id, ids }), {
    isJson: true,
  });
  return {
    properties: groupBy(read.rows, ({ definitionId }) => definitionId),
    complete: completeParents(ids, read, ({ definitionId }) => definitionId),
  };
}

export const countCustomProperties =
  ({ sql: reader, actor }: OperationContext): LoadBatch<EventDefinitionId, number> =>
  async (ids) => {
    const rows = await reader.all(
      db
        .selectFrom('event_property as p')
        .select(['p.definition_id as id', ({ fn }) => fn.countAll<number>().as('count')])
        .where('p.organization_id', '=', requireOrganization(actor).id)
        .where('p.definition_id', '=', anyOf('uuid', ids))
        .groupBy('p.definition_id'),
    );
    return new Map(rows.map(({ id, count }) => [id, count]));
  };

/** The row of a custom property that was just written. */
export const propertyRow = ({
  definition,
  name,
  label,
  type,
  description,
  options,
  position,
  ...at
}: EventProperty): EventPropertyRow => ({
  definitionId: definition.id,
  name,
  label,
  type,
  description: description ?? null,
  options,
  position,
  createdAt: at.createdAt.toISOString(),
  updatedAt: at.updatedAt.toISOString(),
});
