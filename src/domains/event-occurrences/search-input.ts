import { z } from 'zod';
import { momentInput } from '../../core/input/moments.ts';
import { keysOf } from '../../core/keys-of.ts';
import { inAnyCase, pageLimit, queryList, textOrAbsent } from '../../core/input/tolerant.ts';
import { text } from '../../core/input/validation.ts';
import { NAME_PATTERN, primaryObjectOf } from '../event-definitions/public.ts';

const MAX_VALUE_LENGTH = 1024;
/** The largest page. */
export const MAX_FOUND = 500;

const DIRECTION_OF = {
  ASCENDING: 'ASC',
  ASC: 'ASC',
  occurredAt: 'ASC',
  DESCENDING: 'DESC',
  DESC: 'DESC',
  '-occurredAt': 'DESC',
} as const;
const DIRECTIONS = keysOf(DIRECTION_OF);

/** Parameters are named `property.<name>` and `objectProperty.<name>`. */
const CONDITION = /^(property|objectProperty)\.(.*)$/s;

/**
 * Checks the conditions on property values. A name that no property can have is refused, because its condition would silently find nothing: some
 * clients send `property.{propname}` as it stands in the reference. Other unknown parameters are ignored, as in the whole event API.
 */
function checkConditions(given: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  for (const [name, value] of Object.entries(given)) {
    const [, kind, property = ''] = CONDITION.exec(name) ?? [];
    if (kind === undefined) continue;
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: [name], message });
    if (kind === 'property' ? !NAME_PATTERN.test(property) : PLACEHOLDER.test(property))
      refuse(`must be named ${kind}.NAME, with the name of a property in place of NAME`);
    if (typeof value !== 'string') refuse('must be given only once');
    else if (value.length > MAX_VALUE_LENGTH) refuse(`must be at most ${MAX_VALUE_LENGTH} characters`);
  }
  const needsType = Object.keys(given).find((name) => name.startsWith('objectProperty.'));
  if (needsType !== undefined && given['objectType'] === undefined)
    context.addIssue({ code: 'custom', path: ['objectType'], message: `is required with ${needsType}` });
}

/** The name of a property of an object, which can be any text, is missing or still that of the reference. */
const PLACEHOLDER = /^$|^\{.*\}$/;

const list = queryList(
  z
    .array(text({ min: 1, max: 255 }))
    .max(100)
    .optional(),
);

const named = {
  eventType: text({ min: 1, max: 255 }).meta({ description: 'Name or fully qualified name of the event.' }).optional(),
  objectType: text({ min: 1, max: 100 })
    .meta({
      description: 'Primary object of the event. A standard object can be written in any case, singular or plural.',
    })
    .optional(),
  objectId: text({ max: 255 })
    .transform(textOrAbsent)
    .meta({ description: 'Id of the record that the occurrence is linked to.' })
    .optional(),
  occurredAfter: momentInput()
    .optional()
    .describe('Lists occurrences after this time: ISO 8601, or milliseconds since 1970.'),
  occurredBefore: momentInput()
    .optional()
    .describe('Lists occurrences before this time: ISO 8601, or milliseconds since 1970.'),
  id: list
    .meta({
      description:
        'Id of an occurrence, or the `uuid` that it was sent with. Can be repeated; values can also be joined by commas.',
    })
    .optional(),
  properties: list
    .meta({
      description:
        'Name of a property to include in the answer. Can be repeated; values can also be joined by commas. When absent, all properties are included.',
    })
    .optional(),
  sort: queryList(
    z
      .array(inAnyCase(DIRECTIONS, z.enum(DIRECTIONS)))
      .max(10)
      .default(['DESCENDING']),
  ).meta({
    description:
      'Sort direction by the time of the occurrence, in any case. When absent, latest first. Of several, the first counts.',
    default: ['DESCENDING'],
  }),
  limit: pageLimit({ max: MAX_FOUND, byDefault: 100 }),
  after: z
    .string()
    .transform(textOrAbsent)
    .meta({ description: 'Cursor: `paging.next.after` of the previous page.' })
    .optional(),
  before: z
    .string()
    .transform(textOrAbsent)
    .meta({ description: 'Cursor: `paging.prev.before` of the following page. Must not be combined with `after`.' })
    .optional(),
};

/** The file of the occurrences of an event. */
export const exportEventOccurrencesInput = z.strictObject({
  name: z
    .string()
    .min(1, 'must not be empty')
    .max(255)
    .describe('Name, fully qualified name, or id of the event definition.'),
  occurredAfter: named.occurredAfter.describe(
    'Only occurrences after this time: ISO 8601, or milliseconds since 1970.',
  ),
  occurredBefore: named.occurredBefore.describe(
    'Only occurrences before this time: ISO 8601, or milliseconds since 1970.',
  ),
  after: z
    .uuid()
    .optional()
    .describe('Continues after the occurrence with this id: the last one of a file that was cut.'),
});

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

const conditionsOf = (
  given: Readonly<Record<string, unknown>>,
  prefix: string,
): readonly (readonly [string, string])[] =>
  Object.entries(given).flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), String(value)] as const] : [],
  );
