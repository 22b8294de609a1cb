import { z } from 'zod';
import { INPUT_FAULT_CODES, type InputFaultCode } from '../../core/errors.ts';
import { momentInput } from '../../core/input/moments.ts';
import { keysOf } from '../../core/keys-of.ts';

const [first, ...others] = keysOf(INPUT_FAULT_CODES);
const reasons: [InputFaultCode, ...InputFaultCode[]] = [first ?? 'REQUIRED', ...others];

/** Conditions on the counts of refused occurrences. */
export const eventViolationFilter = z.strictObject({
  eventDefinitionIds: z.array(z.uuid()).max(100).nullish(),
  isUnknownEvent: z.boolean().nullish(),
  reasons: z.array(z.enum(reasons)).max(100).nullish(),
  hourFrom: momentInput().nullish(),
  hourBefore: momentInput().nullish(),
});
export type EventViolationFilter = z.output<typeof eventViolationFilter>;
