import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { ROLES } from '../../core/access.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';

const UserSchema = defineEntity({
  name: 'User',
  tableName: 'user_account',
  properties: {
    id: p.uuid().$type<UserId>().primary(),
    email: p.text().nullable(),
    name: p.text().nullable(),
    createdAt: p.datetime(),
    /** When the name was last changed. */
    updatedAt: p.datetime().defaultRaw('current_timestamp'),
    /** The organization of a service account; null for a person. Not a foreign key, because organizations refer to accounts. */
    serviceOrganizationId: p.uuid().$type<OrganizationId>().nullable(),
    /** The role of a service account in its organization. */
    serviceRole: p.enum(ROLES).nullable(),
    /** As `Membership.roleSince`. */
    serviceRoleSince: p.datetime().nullable(),
    /** When a service account was deleted. Its row stays with its organization, because sessions and keys refer to it. */
    serviceDeletedAt: p.datetime().nullable(),
  },
  uniques: [{ name: 'user_account_email_unique', properties: ['email'] }],
  indexes: [
    {
      name: 'user_account_service_index',
      properties: ['serviceOrganizationId', 'createdAt', 'id'],
      where: 'service_organization_id is not null',
    },
  ],
});

/** An account: of a person, whom the e-mail address, in lower case, identifies for operators, or a service account of an organization. */
export class User extends UserSchema.class {
  /** For the audit log. Undefined when the account is being deleted. */
  label(): string | undefined {
    if (this.serviceOrganizationId != null) return this.name ?? undefined;
    return this.email == null ? undefined : this.name == null ? this.email : `${this.name} (${this.email})`;
  }

  rename(name: string | null, at: Date): void {
    this.name = name;
    this.updatedAt = at;
  }
}
UserSchema.setClass(User);

export type UserTables = InferKyselyDB<typeof UserSchema>;
export const USER_COLUMNS = columnNames<UserTables, 'user_account'>(UserSchema, 'user_account');
