import { z } from 'zod';
import { answering, readOnly } from '../../core/documents.ts';
import type { GroupRow } from './queries.ts';

/** What both APIs answer. */

export const groupDocument = z
  .strictObject({
    id: readOnly(z.uuid()).describe('Id of the group.').meta({ example: '5b0c4a3d-2f61-4f0e-9a57-1c2d3e4f5a6b' }),
    name: z.string().describe('Its name, 1 to 200 characters.').meta({ example: 'Platform team' }),
    externalName: z
      .string()
      .nullable()
      .describe(
        'The name or id of the group of the identity provider that decides who is a member, at each sign-in or by SCIM. Null for none.',
      )
      .meta({ example: 'platform' }),
    isManagedBySCIM: readOnly(z.boolean())
      .describe('Whether SCIM manages the group: then only SCIM changes its members.')
      .meta({ example: false }),
    memberIds: z
      .array(z.uuid())
      .describe('Ids of its members: people and service accounts.')
      .meta({ example: ['4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d'] }),
    createdAt: readOnly(z.iso.datetime())
      .describe('When the group was created.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    updatedAt: readOnly(z.iso.datetime())
      .describe('When the group or its members last changed. `expectedUpdatedAt` is compared with it.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
  })
  .meta({ id: 'Group' });

export const isManagedBySCIM = ({ scimName }: Pick<GroupRow, 'scimName'>) => scimName !== null;
export const toGroup = answering<GroupRow, typeof groupDocument>(groupDocument, (row) => ({
  isManagedBySCIM: isManagedBySCIM(row),
  // The list of a row is read-only.
  memberIds: [...row.memberIds],
}));
