import { z } from 'zod';

/** What both APIs answer. */

/** A document, or an object in one, with the texts that the fields of GraphQL have. */
export const documentOf = <Shape extends z.core.$ZodLooseShape>(
  texts: Readonly<Record<keyof Shape & string, string>>,
  shape: Shape & Record<string, z.core.$ZodType>,
) => z.strictObject(described(texts, shape));

/** What a row does not have as the document answers it. */
type Own<Row, Document> = {
  [
    Name in keyof Document as Name extends keyof Row
      ? Row[Name] extends Answered<Document[Name]>
        ? never
        : Name
      : Name
  ]: Document[Name];
};
/** The type that a column has when it is answered as this: lists of rows are read-only. */
export type Answered<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value;

/** Makes the document of a row: its columns with these names, and what is computed. A property that neither has does not compile. */
export function answering<Row extends object, Document extends z.ZodObject>(
  document: Document,
  own: (row: Row) => Own<Row, z.input<Document>> & Partial<z.input<Document>>,
): (row: Row) => z.input<Document> {
  const names = Object.keys(document.shape);
  return (row) => {
    const computed = own(row);
    const answer: Record<string, unknown> = {};
    // `Own` has compared the types.
    for (const name of names) answer[name] = Reflect.get(name in computed ? computed : row, name);
    return answer as z.input<Document>;
  };
}

/**
 * The example of a document: those of its properties (`.meta({ example })`), one item in a list. Where there is none, what can be null is null,
 * and what is optional is left out.
 * @throws Error if a property has no example.
 */
export function exampleOf<Document extends z.core.$ZodType>(document: Document): z.input<Document> {
  // Every value comes from the schema, and a test validates the whole.
  return exampleAt(document, '') as z.input<Document>;
}

function exampleAt(schema: z.core.$ZodType, path: string): unknown {
  const given = z.globalRegistry.get(schema)?.['example'];
  if (given !== undefined || schema instanceof z.ZodOptional) return given;
  if (schema instanceof z.ZodObject) {
    const properties = Object.entries<z.core.$ZodType>(schema.shape).map(([name, each]) => [
      name,
      exampleAt(each, `${path}.${name}`),
    ]);
    return Object.fromEntries(properties.filter(([, value]) => value !== undefined));
  }
  if (schema instanceof z.ZodArray) return [exampleAt(schema.element, `${path}[]`)];
  if (schema instanceof z.ZodNullable) return null;
  throw new Error(`give ${path} an example`);
}

/** The text of a property, for an input that means the same. */
export const textOf = ({ description = '' }: z.ZodType): string => description;

/** Marks a property that no request accepts, so that clients remove it before they send an object back. */
export const readOnly = <Schema extends z.ZodType>(schema: Schema): Schema => schema.meta({ readOnly: true });

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
