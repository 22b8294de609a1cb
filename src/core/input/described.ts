import type { z } from 'zod';

/**
 * Describes the properties of an object by their names, so that both APIs share the texts: a property without one does
 * not compile. If a schema has a description already, that follows.
 */
export function described<Shape extends z.core.$ZodLooseShape>(
  texts: Readonly<Record<keyof Shape & string, string>>,
  shape: Shape & Record<string, z.core.$ZodType>,
): Shape {
  // Compared as the smaller type, because that of the methods costs the compiler much more.
  const entries = Object.entries(shape as Record<string, z.ZodType>).map(([name, schema]) => {
    const description = [texts[name], schema.description].filter(Boolean).join(' ');
    return [name, schema.meta({ description })];
  });
  // Descriptions do not change the types.
  return Object.fromEntries(entries) as Shape;
}
