import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { keylessRoute } from '../../core/http/route.ts';
import { memberCountsOf, organizationRow } from '../organizations/public.ts';
import { organizationDocument, organizationExample, toOrganizationDocument } from '../organizations/rest-documents.ts';
import { acceptInvitationWithoutKeyInput } from './input.ts';
import { acceptInvitationWithoutKey } from './operations.ts';

const KEY_TEXTS = { id: 'Id of the key.', key: 'The secret of the key: `wgk_…`. It is shown only in this answer.' };
const ACCEPTED_TEXTS = { organization: 'The organization that the user joined.', apiKey: 'The first key of the user.' };

const acceptedInvitationDocument = documentOf(ACCEPTED_TEXTS, {
  organization: organizationDocument,
  apiKey: documentOf(KEY_TEXTS, { id: z.uuid(), key: z.string() }),
}).meta({ id: 'AcceptedInvitation' });

export const invitationRoutes = [
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
