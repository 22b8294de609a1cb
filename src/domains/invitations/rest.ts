import { z } from 'zod';
import { exampleOf } from '../../core/documents.ts';
import { keylessRoute } from '../../core/http/route.ts';
import { memberCountsOf, organizationDocument, organizationRow, toOrganization } from '../organizations/public.ts';
import { ROLES } from '../../core/access.ts';
import { acceptInvitationWithoutKeyInput, previewOrganizationInvitationInput } from './input.ts';
import { acceptInvitationWithoutKey, previewOrganizationInvitation } from './operations.ts';

const acceptedInvitationDocument = z
  .strictObject({
    organization: organizationDocument.describe('The organization that the user joined.'),
    apiKey: z
      .strictObject({
        id: z.uuid().describe('Id of the key.'),
        key: z.string().describe('The secret of the key: `wgk_…`. It is shown only in this answer.'),
      })
      .describe('The first key of the user.')
      .meta({
        example: { id: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d', key: 'wgk_ab12yJ7nQm0PzKd4Xs9TfVbRhLcGwEo3u1Ayz' },
      }),
  })
  .meta({ id: 'AcceptedInvitation' });

const invitationPreviewDocument = z
  .strictObject({
    organizationName: z.string().describe('Name of the organization.').meta({ example: 'Example Works' }),
    email: z.string().describe('The invited e-mail address, in lower case.').meta({ example: 'bea@example.com' }),
    role: z.enum(ROLES).describe('Role of the new member.').meta({ example: 'member' }),
    inviter: z
      .string()
      .nullable()
      .describe(
        'The administrator who created the invitation: their name, or their e-mail address if they have no name.',
      )
      .meta({ example: 'Ann' }),
    expiresAt: z.iso
      .datetime()
      .describe('When the invitation expires: 7 days after it was created.')
      .meta({ example: '2026-03-08T10:00:00.000Z' }),
  })
  .meta({ id: 'InvitationPreview' });

const accepted = exampleOf(acceptedInvitationDocument);

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
      output: { ...accepted, organization: { ...accepted.organization, memberCount: 2 } },
    },
    run: async (context, input) => {
      const { organization, apiKey, key } = await acceptInvitationWithoutKey(context, input);
      const counts = await memberCountsOf(context)([organization.id]);
      return {
        organization: toOrganization(organizationRow(organization), counts.get(organization.id) ?? 1),
        apiKey: { id: apiKey.id, key },
      };
    },
  }),
];
