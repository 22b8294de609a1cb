import { z } from 'zod';
import { text } from '../../core/validation.ts';
import { NAME_MAX_LENGTH, nameFromLabel } from './naming.ts';

/** What the inputs of definitions and of their properties have in common. */

export const nameInput = text({ min: 1, max: NAME_MAX_LENGTH }).regex(
  // The empty string passes here, because `min` reports it.
  /^(?:[a-z][a-z0-9_]*)?$/,
  'must start with a letter and contain only lowercase letters, digits and underscores',
);

/** Addresses an existing definition or property. A text that cannot be a name is not refused: nothing is found by it. */
export const referenceInput = z.string().min(1, 'must not be empty').max(255, 'must be at most 255 characters');

/** The documents give no bound. This one keeps a definition with all its properties well below the bound of a body. */
export const descriptionInput = text({ max: 10_000 });

/** Lets a rule over several fields run although single fields are at fault, so that all faults are reported together. */
export const evenWithFaults = { when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null };

/** The value that a rule over several fields sees: any field can be missing or have the wrong type. */
export type Unchecked<Field extends string> = { readonly [name in Field]?: unknown };

/** Requires a label that a name can be made from, where no name is given. */
export function labelMakesName(kind: 'event' | 'property', label: z.ZodType<string>) {
  return (given: Unchecked<'name' | 'label'>, context: z.RefinementCtx): void => {
    const parsed = label.safeParse(given.label);
    if (given.name == null && parsed.success && nameFromLabel(parsed.data, kind) === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['label'],
        message: 'leaves no name, because it has neither letters nor digits; give a name',
      });
    }
  };
}
