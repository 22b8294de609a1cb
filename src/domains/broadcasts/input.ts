import { z } from 'zod';
import { optional, text } from '../../core/validation.ts';
import { BROADCAST_STATUSES } from './entity.ts';

/** Bytes of a broadcast's content as JSON in UTF-8: 64 KiB. */
export const MAX_CONTENT_BYTES = 64 * 1024;
/** Levels of objects and arrays; the content itself is the first. */
export const MAX_CONTENT_DEPTH = 20;
export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 500;

/** The documented name of the parameter. */
export const broadcastReference = z.strictObject({ broadcast_guid: z.uuid() });
export type BroadcastReference = z.output<typeof broadcastReference>;

export const noInput = z.strictObject({});

/** `after` is the `broadcastGuid` of the last broadcast seen. */
export const listBroadcastsInput = z.strictObject({
  status: z.enum(BROADCAST_STATUSES).optional(),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  after: z.uuid().optional(),
});
export type ListBroadcastsInput = z.output<typeof listBroadcastsInput>;

/** Fields beside `body` depend on the kind of channel: they are kept, and not looked at. */
const content = z
  .looseObject({ body: text({ min: 1, max: 10_000 }) })
  .refine((value) => isWithin(value, MAX_CONTENT_DEPTH), {
    error: `must not be nested deeper than ${MAX_CONTENT_DEPTH} levels`,
    // What is deeper cannot even be written out to be measured.
    abort: true,
  })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_CONTENT_BYTES, {
    error: `must be at most ${MAX_CONTENT_BYTES} bytes (64 KiB) as JSON in UTF-8`,
  });

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}

/** Without `triggerAt` a broadcast is due at once. */
export const createBroadcastInput = z.strictObject({
  channelGuid: z.uuid(),
  content,
  triggerAt: optional(
    z.iso
      .datetime({
        offset: true,
        error: 'must be an ISO 8601 date and time with its offset, such as 2026-03-01T10:20:30.500Z',
      })
      .transform((value) => new Date(value))
      .refine((value) => /^(?!0000)\d{4}-/.test(value.toISOString()), 'must be from the year 1 to 9999'),
  ),
});
export type CreateBroadcastInput = z.output<typeof createBroadcastInput>;
