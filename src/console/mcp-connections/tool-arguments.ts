/** The fields for the arguments of a tool, from their JSON Schema, and the arguments from the values of the fields. */

export interface Argument {
  /** The name of the field in the form. */
  readonly field: string;
  readonly name: string;
  readonly kind: 'string' | 'number' | 'boolean' | 'choice' | 'json';
  readonly isRequired: boolean;
  readonly help: string;
  readonly initial: string | boolean;
  readonly choices?: readonly (readonly [value: string, name: string])[];
}

/** The field that takes all arguments as JSON. */
export const JSON_ARGUMENTS = 'arguments';

const MAX_FIELDS = 30;
/** What cannot be shown as one field for each property. */
const COMBINING = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'not', 'patternProperties'];

type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The arguments; undefined for a schema that only JSON can satisfy. */
export function argumentsIn(schema: unknown): readonly Argument[] | undefined {
  if (!isSchema(schema) || COMBINING.some((name) => name in schema)) return undefined;
  const properties = schema['properties'] ?? {};
  if (!isSchema(properties)) return undefined;
  const entries = Object.entries(properties);
  const isOpen = entries.length === 0 && schema['additionalProperties'] !== false && schema['type'] !== 'object';
  if (entries.length > MAX_FIELDS || isOpen) return undefined;
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  return entries.map(([name, property]) => argumentOf(name, property, required.includes(name)));
}

function argumentOf(name: string, property: unknown, isRequired: boolean): Argument {
  const schema = isSchema(property) ? property : {};
  const { description, default: given, enum: values, type } = schema;
  const kind = kindOf(schema);
  const help = typeof description === 'string' ? description : '';
  const isChoice = kind === 'choice' || (kind === 'boolean' && !isRequired);
  const named = kind === 'choice' && Array.isArray(values) ? values.map(String) : ['true', 'false'];
  const absent = isRequired ? [] : [['', 'Not given'] as const];
  return {
    field: `${JSON_ARGUMENTS}.${name}`,
    name,
    kind,
    isRequired,
    help: kind === 'json' && typeof type === 'string' ? `${help} (${type})`.trim() : help,
    initial: kind === 'boolean' && isRequired ? given === true : initialText(given, kind, isRequired ? named[0] : ''),
    ...(isChoice && { choices: [...absent, ...named.map((value) => [value, value] as const)] }),
  };
}

function kindOf({ type, enum: values, ...rest }: Schema): Argument['kind'] {
  if (COMBINING.some((name) => name in rest)) return 'json';
  if (Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string')) return 'choice';
  if (values !== undefined) return 'json';
  if (type === 'integer') return 'number';
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'json';
}

function initialText(given: unknown, kind: Argument['kind'], first: string | undefined): string {
  if (given === undefined) return kind === 'choice' ? (first ?? '') : '';
  return typeof given === 'string' && kind !== 'json' ? given : JSON.stringify(given);
}

type Read = { readonly value: Readonly<Record<string, unknown>> } | { readonly fault: string };

/** The arguments in the values of a form. */
export function readArguments(args: readonly Argument[] | undefined, values: Readonly<Record<string, unknown>>): Read {
  if (!args) {
    const value = parsed(String(values[JSON_ARGUMENTS]));
    return isSchema(value) ? { value } : { fault: 'The arguments must be a JSON object.' };
  }
  const read: [string, unknown][] = [];
  for (const { field, name, kind, isRequired } of args) {
    const given = values[field];
    if (typeof given === 'boolean') read.push([name, given]);
    else if (given !== '' || (isRequired && kind === 'string')) {
      const value = kind === 'string' || kind === 'choice' ? given : parsed(String(given));
      if (value === undefined) return { fault: `${name}: must be ${kind === 'json' ? 'JSON' : `a ${kind}`}` };
      read.push([name, value]);
    } else if (isRequired) return { fault: `${name}: is required` };
  }
  return { value: Object.fromEntries(read) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
