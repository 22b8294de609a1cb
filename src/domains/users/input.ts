import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { text } from '../../core/input/validation.ts';

export const personName = text({ min: 1, max: 100 });

export const updateViewerInput = z.strictObject({
  name: personName.nullable().optional().describe('Name to display; unchanged when absent, cleared by null.'),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

export const readViewerInput = z.strictObject({});
