import { z } from 'zod';

/** Query parameter of an address that answers a file, because links cannot send headers. It is read with the caller. */
export const ofOrganization = {
  organization: z
    .string()
    .min(1, 'must not be empty')
    .max(100)
    .optional()
    .describe('Id or slug of the organization to act in, instead of the header `X-Organization-Id`.'),
};

/** The same, with a parameter for the media type. */
export const fileParameters = <Format extends 'csv' | 'ndjson'>(...formats: readonly Format[]) => ({
  ...ofOrganization,
  format: z.enum(formats).optional().describe('The format of the file, instead of the header `Accept`.'),
});
