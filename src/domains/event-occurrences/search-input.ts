import { z } from 'zod';
import { momentInput } from '../../core/input/moments.ts';
import { text } from '../../core/input/validation.ts';
import { PRIMARY_OBJECTS } from '../event-definitions/public.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 500;
const MAX_VALUE_LENGTH = 1024;

const DIRECTION_OF = {
  ASCENDING: 'ASC',
  ASC: 'ASC',
  occurredAt: 'ASC',
  DESCENDING: 'DESC',
  DESC: 'DESC',
  '-occurredAt': 'DESC',
} as const;

/** Parameters are named `property.<name>` and `objectProperty.<name>`. */
const CONDITION = /^(?:property|objectProperty)\../;

/** Refuses every parameter that is neither a named one nor a condition on a property value. */
function checkConditions(given: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  for (const [name, value] of Object.entries(given)) {
    if (name in named) continue;
    if (!CONDITION.test(name)) context.addIssue({ code: 'unrecognized_keys', keys: [name] });
    else if (String(value).length > MAX_VALUE_LENGTH)
      context.addIssue({ code: 'custom', path: [name], message: `must be at most ${MAX_VALUE_LENGTH} characters` });
  }
  const needsType = Object.keys(given).find((name) => name.startsWith('objectProperty.'));
  if (needsType !== undefined && given['objectType'] === undefined)
    context.addIssue({ code: 'custom', path: ['objectType'], message: `is required with ${needsType}` });
}

const list = (max: number) => z.array(text({ min: 1, max: 255 })).max(max);

const named = {
  eventType: text({ min: 1, max: 255 }).meta({ description: 'Name or fully qualified name of the event.' }).optional(),
  objectType: text({ min: 1, max: 100 })
    .meta({
      description: 'Primary object of the event. A standard object can be written in any case, singular or plural.',
    })
    .optional(),
  objectId: text({ min: 1, max: 255 })
    .meta({ description: 'Id of the record that the occurrence is linked to.' })
    .optional(),
  occurredAfter: momentInput().optional(),
  occurredBefore: momentInput().optional(),
  id: list(100)
    .meta({ description: 'Id of an occurrence, or the `uuid` that it was sent with. Can be repeated.' })
    .optional(),
  properties: list(100)
    .meta({
      description:
        'Name of a property to include in the answer. Can be repeated. When absent, all properties are included.',
    })
    .optional(),
  sort: z
    .array(z.enum(['ASCENDING', 'ASC', 'occurredAt', 'DESCENDING', 'DESC', '-occurredAt']))
    .max(1)
    .meta({ description: 'Sort direction by the time of the occurrence. When absent, latest first.' })
    .default(['DESCENDING']),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  after: z.string().meta({ description: 'Cursor: `paging.next.after` of the previous page.' }).optional(),
  before: z
    .string()
    .meta({ description: 'Cursor: `paging.prev.before` of the following page. Must not be combined with `after`.' })
    .optional(),
};

/** The search of the REST API over the occurrences of all events of the organization. All conditions must be met. */
export const searchEventOccurrencesInput = z
  .object(named)
  .catchall(z.unknown())
  // Runs even when single parameters are invalid, so that all faults are reported together.
  .superRefine(checkConditions, { when: () => true })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    path: ['before'],
    error: 'must not be given together with after',
  })
  .transform(({ objectType, sort: [direction = 'DESCENDING'], ...given }) => ({
    eventType: given.eventType,
    objectType: objectType === undefined ? undefined : primaryObjectOf(objectType),
    objectId: given.objectId,
    occurredAfter: given.occurredAfter,
    occurredBefore: given.occurredBefore,
    ids: given.id,
    properties: given.properties,
    direction: DIRECTION_OF[direction],
    page: { limit: given.limit, after: given.after, before: given.before },
    propertyValues: conditionsOf(given, 'property.'),
    objectPropertyValues: conditionsOf(given, 'objectProperty.'),
  }));
export type SearchEventOccurrencesInput = z.output<typeof searchEventOccurrencesInput>;

function conditionsOf(
  given: Readonly<Record<string, unknown>>,
  prefix: string,
): readonly (readonly [string, string])[] {
  return Object.entries(given).flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), String(value)] as const] : [],
  );
}

const STANDARD: readonly string[] = PRIMARY_OBJECTS;

/** Older clients write `contact` or `companies` for a standard object. Every other name means a custom object. */
function primaryObjectOf(given: string): string {
  const upper = given.toUpperCase();
  const singular = [upper, upper.replace(/S$/, ''), upper.replace(/IES$/, 'Y')];
  return singular.find((name) => STANDARD.includes(name)) ?? given;
}
