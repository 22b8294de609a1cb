import { z } from 'zod';
import { ROLES } from '../../core/access.ts';
import { answering, readOnly } from '../../core/documents.ts';
import type { ServiceAccountRow, UserRow } from './queries.ts';

/** What both APIs answer. */

export const userDocument = z
  .strictObject({
    id: z
      .uuid()
      .describe('Id of the user, which `DELETE /v1/users/{userId}` takes.')
      .meta({ example: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d' }),
    email: z
      .string()
      .nullable()
      .describe('E-mail address. Null for a deleted account.')
      .meta({ example: 'ann@example.com' }),
    name: z
      .string()
      .nullable()
      .describe('Name to display, at most 100 characters. Null when none was given.')
      .meta({ example: 'Ann' }),
    createdAt: z.iso.datetime().describe('When the account was created.').meta({ example: '2026-03-01T10:20:30.500Z' }),
  })
  .meta({ id: 'User' });
export const toUser = answering<UserRow, typeof userDocument>(userDocument, () => ({}));

export const serviceAccountDocument = z
  .strictObject({
    id: readOnly(z.uuid())
      .describe('Id of the service account.')
      .meta({ example: '8a6e0804-2bd0-4672-b79d-d97027f9071a' }),
    name: z.string().describe('Its name, 1 to 100 characters.').meta({ example: 'Continuous integration' }),
    role: z.enum(ROLES).describe('Its role in the organization.').meta({ example: 'member' }),
    createdAt: readOnly(z.iso.datetime())
      .describe('When the service account was created.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    updatedAt: readOnly(z.iso.datetime())
      .describe('When its name or role last changed. `expectedUpdatedAt` is compared with it.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
  })
  .meta({ id: 'ServiceAccount' });
export const toServiceAccount = answering<ServiceAccountRow, typeof serviceAccountDocument>(
  serviceAccountDocument,
  () => ({}),
);
