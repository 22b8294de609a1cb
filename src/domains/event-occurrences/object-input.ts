import { z } from 'zod';
import { idOrInteger } from '../../core/input/tolerant.ts';
import { emailAddress, optional, rule, text } from '../../core/input/validation.ts';
import { objectId, objectType } from './identifier-input.ts';

/** What identifies an object. */
export const FORMS = ['objectId', 'email', 'utk'] as const;

/** Exactly one of the three forms. */
export const deleteObjectOccurrencesInput = z
  .strictObject({
    objectType: optional(objectType).describe(
      'Type of the object; required with `objectId`, and not allowed without it.',
    ),
    objectId: optional(idOrInteger(objectId)).describe('Id of the object, at most 255 characters.'),
    email: optional(emailAddress()).describe('E-mail address of a contact, at most 254 characters. Case is ignored.'),
    utk: optional(text({ min: 1, max: 255 })).describe('Token of a visitor.'),
  })
  .superRefine((given, context) => {
    const names = FORMS.filter((name) => given[name] !== undefined);
    const refuse = (name: string, message: string) =>
      context.addIssue({ code: 'custom', path: [name], ...rule('CONFLICTING', message) });
    if (names.length !== 1)
      refuse(names[1] ?? 'objectId', 'give exactly one of objectId (with objectType), email and utk');
    else if ((given.objectType !== undefined) !== (given.objectId !== undefined))
      refuse('objectType', 'must be given with objectId, and only with it');
  });
export type DeleteObjectOccurrencesInput = z.output<typeof deleteObjectOccurrencesInput>;
