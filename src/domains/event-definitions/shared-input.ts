import { z } from 'zod';
import { text } from '../../core/input/validation.ts';
import { NAME_MAX_LENGTH, nameFromLabel } from './naming.ts';

/** Parts that the inputs of definitions and of properties share. */

export const nameInput = text({ min: 1, max: NAME_MAX_LENGTH }).regex(
  // The empty string matches, because `min` already reports it.
  /^(?:[a-z][a-z0-9_]*)?$/,
  'must start with a letter and contain only lowercase letters, digits and underscores',
);

/** Identifies an existing definition or property. A text that cannot be a name is accepted and gives 404. */
export const referenceInput = z.string().min(1, 'must not be empty').max(255);

/**
 * An empty description is the same as none, because answers of the REST API contain it where there is none. The documents give no bound. This
 * bound keeps a definition with all its properties well below the maximum size of a request body.
 */
export const descriptionInput = text({ max: 10_000 }).transform((value) => (value === '' ? null : value));

/** Runs a rule over several fields even when single fields are invalid, so that all faults are reported together. */
export const evenWithFaults = { when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null };

/** The input of a rule over several fields. Any field can be missing or have the wrong type. */
export type Unchecked<Field extends string> = { readonly [name in Field]?: unknown };

/** When no name is given, requires a label that a name can be generated from. */
export const labelMakesName =
  (kind: 'event' | 'property', label: z.core.$ZodType<string>) =>
  (given: Unchecked<'name' | 'label'>, context: z.RefinementCtx): void => {
    const parsed = z.safeParse(label, given.label);
    if (given.name == null && parsed.success && nameFromLabel(parsed.data, kind) === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['label'],
        message: 'gives no name, because it has neither letters nor digits; give a name',
      });
    }
  };
