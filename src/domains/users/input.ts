import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { text } from '../../core/input/validation.ts';

export const personName = text({ min: 1, max: 100 });

export const updateViewerInput = z.strictObject({
  name: personName.nullable().optional().describe('Name to display; unchanged when absent, cleared by null.'),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

export const readViewerInput = z.strictObject({});

const address = z.email().max(320);

/** Whether an address of an identity provider can be one here. Only ASCII counts, because lower case makes letters of other alphabets equal to it. */
export const isAddress = (email: string): boolean => /^[\x21-\x7e]+$/.test(email) && address.safeParse(email).success;
