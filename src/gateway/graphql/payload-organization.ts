import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { PAYLOADS } from '../../core/graphql/mutations.ts';
import { selectedColumns } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../../domains/organizations/graphql/types.ts';
import { type OrganizationRow, readActingOrganization } from '../../domains/organizations/public.ts';

/** These are about a whole organization or account. */
const LEFT_OUT: ReadonlySet<string> = new Set(['createOrganization', 'deleteOrganization', 'deleteUser']);

/** Adds the acting organization to the payloads of creations and deletions, so that its counts follow in the same request. */
export function addOrganizationToPayloads(): void {
  for (const [name, type] of PAYLOADS) {
    if (!/^(?:create|delete)[A-Z]/.test(name) || LEFT_OUT.has(name)) continue;
    builder.objectField(type, 'organization', (t) =>
      t.field({
        type: OrganizationType,
        nullable: true,
        description: 'The organization that the request acts in, after the change. Null when it acts in none.',
        extensions: OWN_STATEMENT,
        resolve: async (_, __, context, info) =>
          (await readActingOrganization(context, selectedColumns<OrganizationRow>(info, 'Organization'))) ?? null,
      }),
    );
  }
}
