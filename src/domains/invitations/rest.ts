import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { keylessRoute } from '../../core/http/route.ts';
import { memberCountsOf, organizationRow } from '../organizations/public.ts';
import { organizationDocument, organizationExample, toOrganizationDocument } from '../organizations/rest-documents.ts';
import { ROLES } from '../../core/access.ts';
import { acceptInvitationWithoutKeyInput, previewOrganizationInvitationInput } from './input.ts';
import { acceptInvitationWithoutKey, previewOrganizationInvitation } from './operations.ts';

const KEY_TEXTS = { id: 'Id of the key.', key: 'The secret of the key: `wgk_…`. It is shown only in this answer.' };
const ACCEPTED_TEXTS = { organization: 'The organization that the user joined.', apiKey: 'The first key of the user.' };

const acceptedInvitationDocument = documentOf(ACCEPTED_TEXTS, {
  organization: organizationDocument,
  apiKey: documentOf(KEY_TEXTS, { id: z.uuid(), key: z.string() }),
}).meta({ id: 'AcceptedInvitation' });

const PREVIEW_TEXTS = {
  organizationName: 'Name of the organization.',
  email: 'The invited e-mail address, in lower case.',
  role: 'Role of the new member.',
  inviter: 'The administrator who created the invitation: their name, or their e-mail address if they have no name.',
  expiresAt: 'When the invitation expires: 7 days after it was created.',
};

const invitationPreviewDocument = documentOf(PREVIEW_TEXTS, {
  organizationName: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  inviter: z.string().nullable(),
  expiresAt: z.iso.datetime(),
}).meta({ id: 'InvitationPreview' });

/** The token is in the body, because URLs reach logs and histories. */
export const invitationRoutes = [
  keylessRoute({
    method: 'POST',
    path: '/v1/invitations/preview',
    operationId: 'previewOrganizationInvitation',
    access: 'keyless',
    tag: 'Organizations',
    summary: 'Reads an open invitation by its token, without an API key.',
    description:
      'Answers which organization the token is for, who invited whom, and in which role. It changes nothing. Used, expired, revoked and unknown tokens are 404. `Authorization` is not read.',
    input: previewOrganizationInvitationInput,
    output: invitationPreviewDocument,
    status: 200,
    errors: [400, 404],
    examples: {
      input: { token: 'wgi_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg' },
      output: {
        organizationName: organizationExample.name,
        email: 'bea@example.com',
        role: 'member',
        inviter: 'Ann',
        expiresAt: '2026-03-08T10:00:00.000Z',
      },
    },
    run: async (context, input) => {
      const { inviterName, inviterEmail, expiresAt, ...preview } = await previewOrganizationInvitation(context, input);
      return { ...preview, inviter: inviterName ?? inviterEmail, expiresAt: new Date(expiresAt).toISOString() };
    },
  }),
  keylessRoute({
    method: 'POST',
    path: '/v1/invitations/accept',
    operationId: 'acceptOrganizationInvitation',
    access: 'keyless',
    tag: 'Organizations',
    summary: 'Accepts an invitation without an API key, which creates an account.',
    description:
      'Creates the account of the invited e-mail address, makes it a member of the organization, and answers its first key, which is unbound and has every scope. The key is shown here and never again. Used, expired, revoked and unknown tokens are 404. 409 when the address has an account already: it accepts with its key, by the GraphQL mutation `acceptOrganizationInvitation`. Invitations are made by the GraphQL mutation `inviteOrganizationMember`. `Authorization` is not read. If the answer is lost, send the request again: until the key was used, the token gets a new key, which replaces it. `Idempotency-Key` is not needed.',
    input: acceptInvitationWithoutKeyInput,
    output: acceptedInvitationDocument,
    status: 201,
    errors: [400, 404, 409],
    examples: {
      input: { token: 'wgi_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg', name: 'Ann' },
      output: {
        organization: { ...organizationExample, memberCount: 2 },
        apiKey: { id: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d', key: 'wgk_ab12yJ7nQm0PzKd4Xs9TfVbRhLcGwEo3u1Ayz' },
      },
    },
    run: async (context, input) => {
      const { organization, apiKey, key } = await acceptInvitationWithoutKey(context, input);
      const counts = await memberCountsOf(context)([organization.id]);
      return {
        organization: toOrganizationDocument(organizationRow(organization), counts.get(organization.id) ?? 1),
        apiKey: { id: apiKey.id, key },
      };
    },
  }),
];
