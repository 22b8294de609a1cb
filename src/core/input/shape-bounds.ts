import { z } from 'zod';
import { type InputFault, ValidationError } from '../errors.ts';
import { isObject } from '../is-object.ts';
import { counted } from '../text/wording.ts';
import { WORK } from '../work-budget.ts';

/**
 * The bounds of an input that are checked before it is validated, because validation takes time for each property and item: an object
 * whose properties the schema names has at most 500, and a list as many items as the schema allows. Free JSON is bounded where it is parsed.
 */

/** Checks a value with at most so many properties, and what is in it for some levels more. The path of a fault begins at the value. */
type Check = (value: unknown, levels: number, properties?: number) => InputFault | undefined;

/** The first fault of an input that is too wide to be validated. `added` is the number of its properties that the client did not send. */
export const widthFault = (schema: z.core.$ZodType, input: unknown, added: number): InputFault | undefined =>
  checkOf(schema)?.(input, WORK.levels, WORK.properties + added);

const checks = new WeakMap<z.core.$ZodType, { check?: Check | undefined }>();

/** The check of a schema, which is made once; undefined if the schema has nothing to bound. */
function checkOf(schema: z.core.$ZodType): Check | undefined {
  const known = checks.get(schema);
  // A schema that contains itself asks for its check while it is made.
  if (known)
    return 'check' in known
      ? known.check
      : (value, levels, properties) => (levels > 0 ? known.check?.(value, levels - 1, properties) : undefined);
  const made: { check?: Check | undefined } = {};
  checks.set(schema, made);
  made.check = makeCheck(schema);
  return made.check;
}

function makeCheck(schema: z.core.$ZodType): Check | undefined {
  // Every schema is one of the classes of zod.
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return objectCheck(def);
    case 'record':
      return recordCheck(def);
    case 'array':
      return listCheck(def);
    case 'union':
      return unionCheck(def);
    case 'lazy':
      return checkOf(def.getter());
    default: {
      const inner = innerOf(def);
      return inner && checkOf(inner);
    }
  }
}

/** The schema within one that adds something to it, such as `optional`. */
function innerOf(def: z.core.$ZodTypes['_zod']['def']): z.core.$ZodType | undefined {
  // The schema behind `preprocess` describes what it gets.
  if (def.type === 'pipe') return typeOf(def.in) === 'transform' ? def.out : def.in;
  return 'innerType' in def ? def.innerType : undefined;
}

const typeOf = (schema: z.core.$ZodType): string => schema._zod.def.type;

function objectCheck({ shape, catchall }: z.core.$ZodObjectDef): Check {
  const isClosed = catchall === undefined || typeOf(catchall) === 'never';
  const inner = Object.entries(shape).flatMap(([name, schema]): [string, Check][] => {
    const check = checkOf(schema);
    return check ? [[name, check]] : [];
  });
  return (value, levels, properties) => {
    if (!isObject(value)) return undefined;
    if (isClosed && isWide(value, properties)) return TOO_WIDE;
    for (const [name, check] of inner) {
      const fault = check(value[name], levels);
      if (fault) return within(name, fault);
    }
    return undefined;
  };
}

function recordCheck({ valueType }: z.core.$ZodRecordDef): Check | undefined {
  if (typeOf(valueType) === 'unknown') return undefined;
  const check = checkOf(valueType);
  return (value, levels) => {
    if (!isObject(value)) return undefined;
    if (isWide(value)) return TOO_WIDE;
    if (!check) return undefined;
    for (const name of Object.keys(value)) {
      const fault = check(value[name], levels);
      if (fault) return within(name, fault);
    }
    return undefined;
  };
}

function listCheck({ element, checks: rules = [] }: z.core.$ZodArrayDef): Check {
  const check = checkOf(element);
  const max = rules.reduce<number>((least, rule) => Math.min(least, maxLengthOf(rule)), WORK.items);
  // A list that is a little too long is validated, so that all its faults are reported together.
  const limit = Math.max(max, WORK.properties);
  const fault: InputFault = {
    path: [],
    code: 'TOO_MANY',
    message: `must have at most ${counted(max, 'item')}`,
    limit: max,
  };
  return (value, levels) => {
    if (!Array.isArray(value)) return undefined;
    if (value.length > limit) return fault;
    if (!check) return undefined;
    for (let index = 0; index < value.length; index += 1) {
      const inner = check(value[index], levels);
      if (inner) return within(String(index), inner);
    }
    return undefined;
  };
}

function maxLengthOf(check: z.core.$ZodCheck): number {
  // Every rule is one of the classes of zod.
  const { def } = (check as z.core.$ZodChecks)._zod;
  return def.check === 'max_length' ? def.maximum : Infinity;
}

/** A value of a union is too wide if it is for any of the shapes. */
function unionCheck({ options }: z.core.$ZodUnionDef): Check | undefined {
  const bounded = options.flatMap((option) => checkOf(option) ?? []);
  if (bounded.length === 0) return undefined;
  return (value, levels, properties) => {
    for (const check of bounded) {
      const fault = check(value, levels, properties);
      if (fault) return fault;
    }
    return undefined;
  };
}

const TOO_WIDE: InputFault = {
  path: [],
  code: 'TOO_MANY',
  message: `must have at most ${WORK.properties} properties`,
  limit: WORK.properties,
};

/** @throws ValidationError (400) for an object with more properties than a schema can have names. */
export function requireNarrow(name: string, value: unknown): void {
  if (isObject(value) && isWide(value)) throw new ValidationError([within(name, TOO_WIDE)]);
}

/** Whether an object has more properties than are validated. Their names are not copied. */
function isWide(value: object, properties: number = WORK.properties): boolean {
  let count = 0;
  for (const _ in value) if ((count += 1) > properties) return true;
  return false;
}

const within = (name: string, fault: InputFault): InputFault => ({ ...fault, path: [name, ...fault.path] });

/** The free texts among the properties of an object, with the most characters of each: no ids, addresses and closed lists. */
export function freeTexts({ shape }: z.ZodObject): readonly (readonly [name: string, max: number])[] {
  return Object.entries<z.core.$ZodType>(shape).flatMap(([name, schema]) => {
    const value = withoutNull(schema);
    const isFree = value instanceof z.ZodString && value.format === null && value.meta()?.['format'] === undefined;
    return isFree && value.maxLength !== null ? [[name, value.maxLength] as const] : [];
  });
}

/** The schema of a value that is given. */
function withoutNull(schema: z.core.$ZodType): z.core.$ZodType {
  // Every schema is one of the classes of zod.
  const inner = innerOf((schema as z.core.$ZodTypes)._zod.def);
  return inner ? withoutNull(inner) : schema;
}
