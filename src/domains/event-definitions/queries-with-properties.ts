import type { EventDefinitionId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { anyOf, columns, queriesOn } from '../../core/postgres/reading/queries.ts';
import { within } from '../../core/postgres/reading/reach.ts';
import type { EventDefinitionTables } from './entity.ts';
import { definitionsOf } from './policy.ts';
import { type EventPropertyRow, packedProperties } from './property-queries.ts';
import { type EventDefinitionRow, type EventDefinitionWithProperties, definitionColumns } from './queries.ts';

const db = queriesOn<EventDefinitionTables>();

/** The definitions with these ids and their custom properties, read by one statement, in any order. */
export async function findDefinitionsWithProperties(
  { actor, sql: reader }: OperationContext,
  ids: readonly EventDefinitionId[],
  { asked, askedOfProperties }: { asked: Columns<EventDefinitionRow>; askedOfProperties: Columns<EventPropertyRow> },
): Promise<EventDefinitionWithProperties[]> {
  const properties = packedProperties(askedOfProperties);
  const rows = await reader.all(
    db
      .selectFrom('event_definition as d')
      .select(columns('d', definitionColumns(asked)))
      .select((eb) =>
        eb
          .selectFrom('event_property as p')
          .select(properties.packed.as('packed'))
          .whereRef('p.definition_id', '=', 'd.id')
          .where('p.organization_id', '=', requireOrganization(actor).id)
          .as('packed'),
      )
      .where('d.id', '=', anyOf('uuid', ids))
      .where(within(definitionsOf(requireOrganization(actor).id), 'd')),
  );
  return rows.map(({ packed, ...definition }) => ({ ...definition, customProperties: properties.unpack(packed) }));
}
