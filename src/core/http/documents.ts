import { z } from 'zod';

/** The documents of REST answers. */

/** A document, or an object in one. Every property has a text, which the fields of GraphQL share. */
export function documentOf<Shape extends z.core.$ZodLooseShape>(
  texts: Readonly<Record<keyof Shape & string, string>>,
  shape: Shape & Record<string, z.ZodType>,
) {
  const described = Object.fromEntries(
    Object.entries<z.ZodType>(shape).map(([name, schema]) => [name, schema.meta({ description: texts[name] })]),
  );
  // Descriptions do not change the types.
  return z.strictObject(described as Shape);
}

/** Marks a property that no request accepts, so that clients remove it before they send an object back. */
export function readOnly<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ readOnly: true });
}
