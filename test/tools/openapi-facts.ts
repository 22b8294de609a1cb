import { isObject } from '../../src/core/is-object.ts';

/**
 * What clients can rely on in an OpenAPI document, as short texts by operation: a change is compatible if no text is lost, and only some kinds
 * are new. Answers may get new properties and enum values; requests may get optional properties, types and enum values.
 */
export type Facts = ReadonlyMap<string, ReadonlySet<string>>;

type Json = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export function factsOf(document: object): Facts {
  const facts = new Map<string, Set<string>>();
  for (const [path, methods] of Object.entries(objectOf(objectOf(document)['paths'])))
    for (const [method, operation] of Object.entries(objectOf(methods)))
      facts.set(`${method.toUpperCase()} ${path}`, new Set(operationFacts(objectOf(operation), objectOf(document))));
  return facts;
}

function* operationFacts(operation: Json, document: Json): Generator<string> {
  for (const each of listOf(operation['parameters'])) {
    const { name, required, schema, ...rest } = resolve(each, document);
    const place = `parameter ${String(rest['in'])} ${String(name)}`;
    if (required === true) yield `${place} is required`;
    yield* schemaFacts(schema, { document, place, within: [] });
  }
  const body = resolve(operation['requestBody'], document);
  if (body['required'] === true) yield 'body is required';
  yield* contentFacts(body, 'body', document);
  for (const [status, response] of Object.entries(objectOf(operation['responses'])))
    if (status.startsWith('2')) {
      yield `answer ${status}`;
      yield* contentFacts(resolve(response, document), `answer ${status}`, document);
    }
}

function* contentFacts({ content }: Json, place: string, document: Json): Generator<string> {
  for (const [mediaType, { schema }] of Object.entries(objectOf(content)).map(
    ([type, value]) => [type, objectOf(value)] as const,
  )) {
    yield `${place} ${mediaType}`;
    yield* schemaFacts(schema, { document, place: `${place} ${mediaType} `, within: [] });
  }
}

interface Walk {
  readonly document: Json;
  readonly place: string;
  /** The references that lead here: a repeated one is a recursive schema. */
  readonly within: readonly string[];
}

function* schemaFacts(given: unknown, { document, place, within }: Walk): Generator<string> {
  const schema = objectOf(given);
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    if (within.includes(reference)) yield `${place}: ${reference}`;
    else yield* schemaFacts(resolve(schema, document), { document, place, within: [...within, reference] });
    return;
  }
  for (const branch of ['anyOf', 'oneOf', 'allOf'].flatMap((name) => listOf(schema[name])))
    yield* schemaFacts(branch, { document, place, within });
  for (const type of [schema['type']].flat()) if (typeof type === 'string') yield `${place}: ${type}`;
  const values = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
  for (const value of values) yield `${place} value ${JSON.stringify(value)}`;
  for (const name of listOf(schema['required'])) yield `${place}.${String(name)} is required`;
  for (const [name, property] of Object.entries(objectOf(schema['properties'])))
    yield* schemaFacts(property, { document, place: `${place}.${name}`, within });
  if (schema['items'] !== undefined) yield* schemaFacts(schema['items'], { document, place: `${place}[]`, within });
}

function resolve(given: unknown, document: Json): Json {
  const object = objectOf(given);
  const reference = object['$ref'];
  if (typeof reference !== 'string') return object;
  const found = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((node, name) => objectOf(node)[name], document);
  return resolve(found, document);
}

/** The changes that break clients of the earlier document. */
export function breakingChanges(earlier: object, later: object): string[] {
  const [before, after] = [factsOf(earlier), factsOf(later)];
  return [...before].flatMap(([operation, facts]) => {
    const now = after.get(operation);
    if (!now) return [`${operation} is gone`];
    const places = new Set([...facts].map(placeOf));
    const lost = [...facts]
      .filter((fact) => !now.has(fact) && !isRelaxed(fact))
      .map((fact) => `${operation} lost: ${fact}`);
    const added = [...now].filter((fact) => !facts.has(fact) && isDemand(fact, places));
    return [...lost, ...added.map((fact) => `${operation} got: ${fact}`)];
  });
}

const placeOf = (fact: string) => fact.replace(/: [^:]*$| value .*$| is required$/, '');
const isOfAnswer = (fact: string) => fact.startsWith('answer ');

/** A request that no longer demands something accepts all that it did. */
const isRelaxed = (fact: string) => !isOfAnswer(fact) && fact.endsWith(' is required');

/** What a new fact asks of clients: in requests a required member, in answers another type of a member that they know. */
function isDemand(fact: string, known: ReadonlySet<string>): boolean {
  if (!isOfAnswer(fact)) {
    // A new object can demand members, because nobody has to send it.
    const parent = placeOf(fact).replace(/\.[^.]*$/, '');
    return fact.endsWith(' is required') && (!parent.includes(' .') || known.has(parent));
  }
  return (
    !fact.endsWith(' is required') && !fact.includes(' value ') && known.has(placeOf(fact)) && placeOf(fact) !== fact
  );
}
