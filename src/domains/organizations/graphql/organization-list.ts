import { builder } from '../../../core/graphql/builder.ts';
import { resolveList } from '../../../core/graphql/connections.ts';
import { type ListOperation, type ListType, listType } from '../../../core/graphql/lists.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { inGraphQL } from '../../../core/text/wording.ts';
import type { OrganizationId } from '../../../core/ids.ts';
import type { OrganizationRow } from '../queries.ts';
import { OrganizationType } from './types.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { organizationFilter } from '../input.ts';

/** Defines a list of an organization. Only the acting organization has it. */
export function organizationList<Shown extends object, Filter, Field extends string, Row extends object = Shown>(
  name: string,
  { type, connection, args, askedBy }: ListType<Shown, Filter, Field>,
  operation: ListOperation<Shown, Filter, Field, Row, { readonly organizationId: OrganizationId }>,
): void {
  const { description, access } = operation.declaration;
  builder.objectField(OrganizationType, name, (t) =>
    t.connection(
      {
        type,
        description: inGraphQL(description),
        args,
        extensions: { ...refusable(access, { actingOrganization: true }), ...needs<OrganizationRow>('id') },
        resolve: ({ id: organizationId }, given, context, info) => {
          const selected = selectedColumns<Row>(info, type.name);
          const list = () => operation(context, { organizationId, ...askedBy(given) }, selected);
          return resolveList({ context, info, args: given }, organizationId, list, selected);
        },
      },
      connection,
    ),
  );
}

export const ORGANIZATION_LIST = listType(OrganizationType, {
  of: 'organizations',
  filter: filterType('OrganizationFilter', organizationFilter),
  conditions: 'Conditions on the organizations. When absent, all organizations are listed.',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the organization.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
