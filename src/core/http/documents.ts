import { z } from 'zod';
import { described } from '../input/described.ts';

/** The documents of REST answers. */

/** A document, or an object in one, with the texts that the fields of GraphQL have. */
export function documentOf<Shape extends z.core.$ZodLooseShape>(
  texts: Readonly<Record<keyof Shape & string, string>>,
  shape: Shape & Record<string, z.core.$ZodType>,
) {
  return z.strictObject(described(texts, shape));
}

/** Marks a property that no request accepts, so that clients remove it before they send an object back. */
export function readOnly<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ readOnly: true });
}
