import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { Role } from '../../core/access.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';

const SuspendedMembershipSchema = defineEntity({
  name: 'SuspendedMembership',
  tableName: 'suspended_membership',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
    /** The role and the date of the membership, which come back with it. */
    role: p.text().$type<Role>(),
    createdAt: p.datetime(),
    suspendedAt: p.datetime(),
  },
  indexes: [{ name: 'suspended_membership_user_index', properties: ['user'] }],
});

/**
 * A membership that SCIM has suspended. In a table of its own, so that nothing that asks for memberships has to leave it out, and gateways of
 * earlier versions refuse the person, too.
 */
export class SuspendedMembership extends SuspendedMembershipSchema.class {}
SuspendedMembershipSchema.setClass(SuspendedMembership);

const FormerMembershipSchema = defineEntity({
  name: 'FormerMembership',
  tableName: 'former_membership',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
    /** Name and address of that time. Null, like the time, for somebody who left before they were kept. */
    label: p.text().nullable(),
    leftAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'former_membership_user_index', properties: ['user'] },
    { name: 'former_membership_left_index', properties: ['organization', 'leftAt', 'user'] },
  ],
});

/** The last membership of somebody that has ended. It stays when they come back. */
export class FormerMembership extends FormerMembershipSchema.class {}
FormerMembershipSchema.setClass(FormerMembership);

const ScimUserSchema = defineEntity({
  name: 'ScimUser',
  tableName: 'scim_user',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
    userName: p.text(),
    /** In lower case, because SCIM compares it without case. */
    userNameKey: p.text(),
    externalId: p.text().nullable(),
    displayName: p.text().nullable(),
    name: p.json<Readonly<Partial<Record<'formatted' | 'givenName' | 'familyName', string>>>>(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [{ name: 'scim_user_name_unique', properties: ['organization', 'userNameKey'] }],
  indexes: [{ name: 'scim_user_user_index', properties: ['user'] }],
});

/** What SCIM has sent of a member: their role and groups are those of SCIM. */
export class ScimUser extends ScimUserSchema.class {}
ScimUserSchema.setClass(ScimUser);

export type SuspensionTables = InferKyselyDB<
  typeof SuspendedMembershipSchema | typeof FormerMembershipSchema | typeof ScimUserSchema
>;
