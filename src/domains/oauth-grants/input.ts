import { z } from 'zod';
import type { ApiKeyId } from '../../core/ids.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import { idSchema, text } from '../../core/input/validation.ts';

/** Conditions on a list of connected apps. All that are given must be met; null is the same as absent. */
export const connectedAppFilter = z
  .strictObject({
    search: text({ max: 100 })
      .nullish()
      .describe('Apps whose name contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe('Conditions on connected apps. An app is listed when it meets all of them.');
export type ConnectedAppFilter = z.output<typeof connectedAppFilter>;

export const listConnectedAppsInput = z.strictObject(listInput);

export const revokeConnectedAppInput = z.strictObject({
  connectedAppId: idSchema<ApiKeyId>().describe('Id of the connected app.'),
});
