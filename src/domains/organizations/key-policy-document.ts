import { z } from 'zod';
import { answering } from '../../core/documents.ts';

export const keyPolicyDocument = z
  .strictObject({
    maxDays: z
      .int()
      .nullable()
      .describe(
        'Days after its creation at which an API key acts in the organization no longer. A new bound key ends by then; a later `expiresAt` is refused. Null for any age.',
      )
      .meta({ example: 90 }),
    boundOnly: z
      .boolean()
      .describe('Whether its members can create no unbound API keys. Those that exist stay.')
      .meta({ example: true }),
  })
  .meta({ id: 'KeyPolicy' });
export type KeyPolicy = z.output<typeof keyPolicyDocument>;
export const toKeyPolicy = answering<KeyPolicy, typeof keyPolicyDocument>(keyPolicyDocument, () => ({}));
