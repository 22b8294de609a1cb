import { z } from 'zod';
import { text } from '../../core/validation.ts';

export const updateViewerInput = z.strictObject({ name: text({ min: 1, max: 100 }).nullable() });
export type UpdateViewerInput = z.output<typeof updateViewerInput>;

export const readViewerInput = z.strictObject({});
