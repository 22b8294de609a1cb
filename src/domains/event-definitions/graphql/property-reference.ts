import { z } from 'zod';
import { type InputDifferences } from '../../../core/graphql/derived-inputs.ts';
import { parseGlobalId, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { rule } from '../../../core/input/validation.ts';
import { isObject } from '../../../core/is-object.ts';

/** The key of a property within its type: the id of its definition, and its name. */
export function propertyPlaceOf(key: string): { readonly definitionId: string; readonly name: string } | undefined {
  const [, given = '', name = ''] = /^([^:]*):(.*)$/s.exec(key) ?? [];
  const [definitionId] = uuidsOf([given]);
  return definitionId === undefined ? undefined : { definitionId, name };
}

/** The input of a mutation of a property, which names it by its `id`, or by the event and its name as REST does. */
export const acceptingPropertyId = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((given, context) => {
    if (!isObject(given) || given['propertyId'] == null) return given;
    const { propertyId, eventName, name, ...rest } = given;
    const fault = (...of: Parameters<typeof rule>) => {
      context.addIssue({ code: 'custom', path: ['propertyId'], ...rule(...of) });
      return z.NEVER;
    };
    if (eventName != null || name != null) return fault('CONFLICTING', 'must not be combined with eventName and name');
    const id = typeof propertyId === 'string' ? parseGlobalId(propertyId) : undefined;
    const place = id?.typename === 'EventProperty' ? propertyPlaceOf(id.key) : undefined;
    if (!place) return fault('BAD_FORMAT', 'must be an id of the type EventProperty');
    return { ...rest, eventName: place.definitionId, name: place.name };
  }, schema);

/** The fields that name a property. */
export const PROPERTY_REFERENCE = {
  ids: { eventName: 'EventDefinition' },
  fields: (t) => ({
    propertyId: t.id({ description: '`id` of the property, in place of `eventName` and `name`.' }),
    eventName: t.string({
      description: 'Name, fully qualified name, or id of the event definition. Required without `propertyId`.',
    }),
    name: t.string({ description: 'Name of the property. Required without `propertyId`.' }),
  }),
} as const satisfies InputDifferences;
