import type { EntityManager } from '@mikro-orm/postgresql';
import { type AuditTarget, auditEntry, recordAudit, recordAudits } from '../../core/audit.ts';
import type { ApiKeyId, OrganizationId } from '../../core/ids.ts';
import type { OfProvider } from '../api-keys/public.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { OidcSettings } from '../../core/oidc-settings.ts';
import { Membership, Organization } from '../organizations/public.ts';
import type { User } from '../users/public.ts';
import { Identity } from './entity.ts';

/** Sign-ins of people in the audit log. */

export type SignInContext = Pick<OperationContext, 'now' | 'newId' | 'requestId' | 'requestIdOrigin'> &
  Partial<Pick<OperationContext, 'client'>>;

export interface NewSignIn extends OfProvider {
  readonly id: ApiKeyId;
  readonly expiresAt: Date;
}

/** Records what a sign-in has done. */
export function recordSignIn(
  em: EntityManager,
  context: SignInContext,
  { id }: NewSignIn,
  operation: string,
  target: AuditTarget,
): Promise<void> {
  const actor = { keyId: id, organization: undefined };
  return recordAudit(em, auditEntry({ ...context, actor }, operation, target));
}

/** Records a sign-in in the audit log of each organization of the person. */
export async function recordInAll(
  em: EntityManager,
  user: User,
  record: (organizationId: OrganizationId | null) => Promise<void>,
): Promise<void> {
  const memberships = await em.find(Membership, { user }, { limit: 100 });
  const ids = memberships.map(({ organization }) => organization.id);
  for (const id of ids.length > 0 ? ids : [null]) await record(id);
}

/** The organization whose audit log has what else a sign-in does: the one with the slug if the person is in it, else their only one. */
export async function recordedIn(em: EntityManager, user: User, slug?: string): Promise<OrganizationId | null> {
  const memberships = await em.find(Membership, { user }, { populate: ['organization'], limit: 100 });
  const own = slug === undefined ? undefined : memberships.find(({ organization }) => organization.slug === slug);
  const only = memberships.length === 1 ? memberships[0] : undefined;
  return (own ?? only)?.organization.id ?? null;
}

/** Records a refused sign-in: in each organization of the person of a known identity, and that of somebody unknown in that of the company. */
export async function recordRefusedSignIn(
  em: EntityManager,
  context: SignInContext,
  {
    subject,
    settings,
    message,
  }: { readonly subject: string; readonly settings: OidcSettings; readonly message: string },
): Promise<void> {
  const known = await em.findOne(Identity, { issuer: settings.issuer, subject }, { populate: ['user'] });
  const memberships = known ? await em.find(Membership, { user: known.user }, { limit: 100 }) : [];
  const company =
    known || settings.organization === undefined ? [] : await em.find(Organization, { slug: settings.organization });
  const ids = [...memberships.map(({ organization }) => organization.id), ...company.map(({ id }) => id)];
  const person = {
    type: 'User' as const,
    id: known?.user.id ?? null,
    label: known?.user.label() ?? null,
    detail: message,
  };
  const actor = { keyId: null, organization: undefined };
  const entryIn = (organizationId: OrganizationId) =>
    auditEntry({ ...context, actor }, 'signIn', { ...person, organizationId });
  await recordAudits(
    em,
    ids.map((id) => ({ ...entryIn(id), refusal: 'forbidden' as const })),
  );
}
