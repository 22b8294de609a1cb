import { z } from 'zod';
import { listInput } from '../../core/input/lists.ts';
import { keysOf } from '../../core/keys-of.ts';
import { sessionConditions } from './input.ts';
import { SESSION_ORDERS } from './vocabulary.ts';

/** Query parameters of the REST list. */
export const listSessionsInput = z.strictObject({
  ...listInput,
  ...sessionConditions,
  orderBy: z
    .enum(keysOf(SESSION_ORDERS))
    .default('createdAt')
    .describe('Field to sort by. Sessions that have not reported it are last.'),
  sortOrder: z.enum(['ASC', 'DESC']).default('DESC').describe('Sort direction: ascending or descending.'),
});
