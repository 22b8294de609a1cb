import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { text } from '../../core/input/validation.ts';

export const updateViewerInput = z.strictObject({
  name: text({ min: 1, max: 100 }).nullable().optional(),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
export type UpdateViewerInput = z.output<typeof updateViewerInput>;

export const readViewerInput = z.strictObject({});
