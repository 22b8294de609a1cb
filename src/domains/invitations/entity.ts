import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { InvitationId } from '../../core/ids.ts';
import { ROLES } from '../../core/access.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';
import { ApiKey } from '../api-keys/public.ts';
import { User } from '../users/public.ts';

const InvitationSchema = defineEntity({
  name: 'Invitation',
  tableName: 'invitation',
  properties: {
    id: p.uuid().$type<InvitationId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** In lower case, like the e-mail address of a user. */
    email: p.text(),
    role: p.enum(ROLES),
    /** SHA-256 of the token. The token itself is never stored. */
    hash: p.blob(),
    /** Null when the account is deleted. */
    inviter: () => p.manyToOne(User).nullable().deleteRule('set null'),
    /** The first key of the account that was created with the token; null while the invitation is open. */
    firstKey: () => p.manyToOne(ApiKey).nullable().deleteRule('cascade'),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
    /** Since when the inviter had the right to invite; the invitation ends with it. */
    inviterSince: p.datetime().nullable(),
  },
  uniques: [
    { name: 'invitation_hash_unique', properties: ['hash'] },
    { name: 'invitation_email_unique', properties: ['organization', 'email'] },
  ],
  indexes: [
    { name: 'invitation_organization_index', properties: ['organization', 'createdAt', 'id'] },
    { name: 'invitation_inviter_index', properties: ['inviter'] },
    { name: 'invitation_first_key_index', properties: ['firstKey'] },
    { name: 'invitation_address_index', properties: ['email'] },
    { name: 'invitation_expiry_index', properties: ['expiresAt'] },
  ],
});

/**
 * An invitation of an e-mail address to an organization. The row is deleted when the invitation is accepted with a key,
 * revoked or replaced. After an acceptance without a key it stays until it expires, because the acceptance can be
 * repeated.
 */
export class Invitation extends InvitationSchema.class {}
InvitationSchema.setClass(Invitation);

export type InvitationTables = InferKyselyDB<typeof InvitationSchema>;
export const INVITATION_COLUMNS = columnNames<InvitationTables, 'invitation'>(InvitationSchema, 'invitation');
