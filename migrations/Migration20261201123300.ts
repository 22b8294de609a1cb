import { StepMigration } from '../src/core/postgres/step-migration.ts';

/** Those who have left before: as the audit log says, and of whom there are sessions. */
export class Migration20261201123300 extends StepMigration {
  override name = 'Migration20261201123300';
  override readonly locks = {};

  override async up(): Promise<void> {
    await this.execute(`
      insert into former_membership (organization_id, user_id, label, left_at)
      select l.organization_id, l.user_id, (array_agg(l.label order by l.left_at desc nulls last))[1], max(l.left_at)
      from (
        select organization_id, target_id as user_id, target_label as label, occurred_at as left_at from audit_entry
        where operation in ('removeOrganizationMember', 'leaveOrganization', 'deleteScimUser')
          and target_type = 'User' and refusal is null
        union all
        select distinct organization_id, creator_id, null, null::timestamptz from session where creator_id is not null
      ) as l
      join user_account as u on u.id = l.user_id and u.service_organization_id is null
      join organization as o on o.id = l.organization_id
      where not exists (select 1 from membership as m where m.organization_id = o.id and m.user_id = u.id)
        and not exists (select 1 from suspended_membership as m where m.organization_id = o.id and m.user_id = u.id)
      group by 1, 2 on conflict do nothing`);
  }

  override down(): void {}
}
