import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import type { OperationSettings } from '../../core/operation-settings.ts';
import { MemberType } from '../memberships/graphql.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { ADMINISTER_ORGANIZATION } from '../organizations/public.ts';
import { type IdentityRow, identitiesOf } from './queries.ts';

export const IdentityType = builder.objectRef<IdentityRow>('Identity').implement({
  description: 'A person at an identity provider who is joined to an account, and signs in with it.',
  fields: (t) => ({
    issuer: t.expose('issuer', { type: 'URL', description: 'The issuer: the address that identifies the provider.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the identity was joined to the account.' }),
    lastSignedInAt: t.expose('lastSignedInAt', {
      type: 'DateTime',
      description: 'When the person last signed in with the identity.',
    }),
  }),
});

builder.objectField(MemberType, 'identities', (t) =>
  t.field({
    type: [IdentityType],
    description: 'The identities with which the member signs in, at most one of each identity provider.',
    extensions: { ...OWN_STATEMENT, ...refusable(ADMINISTER_ORGANIZATION), ...needs<{ userId: string }>('userId') },
    resolve: async ({ userId }, _, context, info) => [
      ...((await resolveBatched({ context, info }, userId, identitiesOf(context))) ?? []),
    ],
  }),
);

interface SignInSettings extends NonNullable<OperationSettings['company']> {
  readonly isOnly: boolean;
}

const SignInSettingsType = builder.objectRef<SignInSettings>('SignInSettings').implement({
  description: 'How people sign in with the identity provider of the gateway, as its operator has set it.',
  fields: (t) => ({
    issuer: t.expose('issuer', { type: 'URL', description: 'The issuer: the address that identifies the provider.' }),
    domains: t.exposeStringList('domains', { description: 'The domains of e-mail addresses that may sign in.' }),
    organizationSlug: t.string({
      nullable: true,
      description: 'The slug of the organization that new people join, and whose roles follow groups. Null for none.',
      resolve: ({ organization }) => organization,
    }),
    joins: t.boolean({
      description: 'Whether a new account joins that organization as a member.',
      resolve: ({ defaultRole }) => defaultRole === 'member',
    }),
    adminGroups: t.exposeStringList('adminGroups', { description: 'The groups of its administrators.' }),
    viewerGroups: t.exposeStringList('viewerGroups', { description: 'The groups of its viewers.' }),
    allowedGroups: t.stringList({
      nullable: true,
      description: 'The groups whose members alone may sign in. Null for any.',
      resolve: ({ allowedGroups }) => allowedGroups && [...allowedGroups],
    }),
    isOnly: t.exposeBoolean('isOnly', { description: 'Whether people sign in with the provider alone.' }),
  }),
});

builder.objectField(OrganizationType, 'signInSettings', (t) =>
  t.field({
    type: SignInSettingsType,
    nullable: true,
    description: 'How people sign in with the identity provider of the gateway. Null without one.',
    extensions: refusable(ADMINISTER_ORGANIZATION, { actingOrganization: true }),
    resolve: (_, __, { settings: { company, companyDomains } }) =>
      company && { ...company, isOnly: companyDomains !== undefined },
  }),
);
