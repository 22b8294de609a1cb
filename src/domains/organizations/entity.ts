import { type InferKyselyDB, type Opt, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId } from '../../core/ids.ts';
import type { Subscriptions } from '../../core/config.ts';
import { ROLES, type Role } from '../../core/access.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { User } from '../users/public.ts';

export const DEFINITION_DELETIONS = ['members', 'creators'] as const;

const OrganizationSchema = defineEntity({
  name: 'Organization',
  tableName: 'organization',
  properties: {
    id: p.uuid().$type<OrganizationId>().primary(),
    /** Number of the organization, which is part of fully qualified event names (`pe<number>_<name>`). */
    number: p.integer().generated('identity').$type<Opt<number>>(),
    name: p.text(),
    slug: p.text().nullable(),
    logoUrl: p.text().nullable(),
    subscriptions: p.json<Subscriptions>(),
    /** The creator, for the maximum of organizations that a person owns; null when that account is deleted. Clients cannot read it. */
    creator: () => p.manyToOne(User).nullable().deleteRule('set null'),
    /** Who can delete event definitions: all members, or administrators and the creator of the definition. */
    definitionDeletion: p.enum(DEFINITION_DELETIONS).default('members'),
    /** After how many days API keys act here no longer; null for any age. */
    keyMaxDays: p.integer().nullable(),
    keysBoundOnly: p.boolean().default(false),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [
    { name: 'organization_slug_unique', properties: ['slug'] },
    { name: 'organization_number_unique', properties: ['number'] },
  ],
  indexes: [{ name: 'organization_creator_index', properties: ['creator'] }],
});

/** A tenant, to which all its other records belong. */
export class Organization extends OrganizationSchema.class {
  update(
    changes: { name?: string; logoUrl?: string | null; definitionDeletion?: (typeof DEFINITION_DELETIONS)[number] },
    at: Date,
  ): void {
    if (changes.definitionDeletion !== undefined) this.definitionDeletion = changes.definitionDeletion;
    if (changes.name !== undefined) this.name = changes.name;
    if (changes.logoUrl !== undefined) this.logoUrl = changes.logoUrl;
    this.updatedAt = at;
  }
}
OrganizationSchema.setClass(Organization);

/** Why somebody became a member, or has the role. */
export const MEMBER_ORIGINS = ['created', 'invited', 'provider', 'group', 'scim', 'operator'] as const;

const MembershipSchema = defineEntity({
  name: 'Membership',
  tableName: 'membership',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
    role: p.enum(ROLES),
    createdAt: p.datetime(),
    /** Null for members of before; those of SCIM have a record of it. */
    origin: p.enum(MEMBER_ORIGINS).nullable(),
    /** When the role was given, if that was after the membership began: invitations of before have ended. */
    roleSince: p.datetime().nullable(),
  },
  indexes: [{ name: 'membership_user_index', properties: ['user'] }],
});

/** The membership of a user in an organization. */
export class Membership extends MembershipSchema.class {
  give(role: Role, at: Date): void {
    this.role = role;
    this.roleSince = at;
  }
}
MembershipSchema.setClass(Membership);

export type OrganizationTables = InferKyselyDB<typeof OrganizationSchema | typeof MembershipSchema>;
export const ORGANIZATION_COLUMNS = columnNames<OrganizationTables, 'organization'>(OrganizationSchema, 'organization');
