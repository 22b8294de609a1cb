import { STATUS_OF, CODE_OF, type ErrorKind } from '../../src/core/errors.ts';
import type { TestGateway } from './gateway.ts';

/** Both doors to event definitions in one shape, so that a test says once what must hold on each. */

export const E = '/events/2026-03/event-definitions';

export interface Option {
  readonly label: string;
  readonly value: string;
}

export interface PropertyState {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly fieldType: string;
  readonly description: string | null;
  readonly options: readonly Option[];
  readonly displayOrder: number;
  readonly isDefault: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface DefinitionState {
  readonly id: string;
  readonly name: string;
  readonly fullyQualifiedName: string;
  readonly objectTypeId: string;
  readonly label: string;
  readonly description: string | null;
  readonly primaryObject: string;
  readonly customMatchingId: object | null;
  readonly includeDefaultProperties: boolean;
  readonly properties: readonly PropertyState[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What the caller was told that went wrong, as REST puts it; `status` of a GraphQL error is that of its code. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly faults: readonly { message: string; code: string; in: string }[];
}

export type Outcome<Value> = { readonly value: Value } | { readonly refused: Refusal };

export interface Page {
  readonly names: readonly string[];
  readonly total: number;
}

export interface Door {
  readonly door: 'REST' | 'GraphQL';
  create(input: object): Promise<Outcome<DefinitionState>>;
  read(eventName: string): Promise<Outcome<DefinitionState>>;
  search(input: { searchString?: string; limit?: number; sortOrder?: 'ASC' | 'DESC' }): Promise<Outcome<Page>>;
  update(eventName: string, changes: object): Promise<Outcome<DefinitionState>>;
  delete(eventName: string): Promise<Outcome<null>>;
  addProperty(eventName: string, input: object): Promise<Outcome<PropertyState>>;
  updateProperty(eventName: string, name: string, changes: object): Promise<Outcome<PropertyState>>;
  deleteProperty(eventName: string, name: string): Promise<Outcome<null>>;
}

/** The value, or a failure that shows the refusal. */
export function done<Value>(outcome: Outcome<Value>): Value {
  if ('refused' in outcome) throw new Error(`refused: ${JSON.stringify(outcome.refused)}`);
  return outcome.value;
}

/** The refusal, or a failure that shows what went through. */
export function refused(outcome: Outcome<unknown>): Refusal {
  if ('value' in outcome) throw new Error(`went through: ${JSON.stringify(outcome.value)}`);
  return outcome.refused;
}

/** With ids, numbers and times, which differ from run to run, replaced. */
export function settled<Value>(value: Value): Value {
  const text = JSON.stringify(value)
    .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>')
    .replaceAll(/"6-\d+"/g, '"6-<number>"')
    .replaceAll(/"pe\d+_/g, '"pe<number>_');
  // The same shape as before, but for the texts that were replaced.
  return JSON.parse(text) as Value;
}

/** The doors, as the holder of the key meets them. */
export function doorsOf(gateway: TestGateway, key: string): readonly [Door, Door] {
  return [restDoor(gateway, key), graphqlDoor(gateway, key)];
}

interface RestError {
  message: string;
  errors: { message: string; code: string; in: string }[];
}

export function restDoor(gateway: TestGateway, key: string): Door {
  async function call<Document, Value>(
    method: string,
    path: string,
    status: number,
    toValue: (document: Document) => Value,
    body?: object,
  ): Promise<Outcome<Value>> {
    const answer = await gateway.rest<Document & RestError>(method, `${E}${path}`, { key, body });
    if (answer.status === status) return { value: toValue(answer.body) };
    if (answer.status < 400) throw new Error(`${method} ${path} answered ${answer.status} in place of ${status}`);
    return { refused: { status: answer.status, message: answer.body.message, faults: answer.body.errors } };
  }
  const at = encodeURIComponent;
  return {
    door: 'REST',
    create: (input) => call('POST', '', 201, definitionOfRest, input),
    read: (eventName) => call('GET', `/${at(eventName)}`, 200, definitionOfRest),
    search: (input) =>
      call(
        'GET',
        `?${new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]))}`,
        200,
        pageOfRest,
      ),
    update: (eventName, changes) => call('PATCH', `/${at(eventName)}`, 200, definitionOfRest, changes),
    delete: (eventName) => call('DELETE', `/${at(eventName)}`, 204, () => null),
    addProperty: (eventName, input) => call('POST', `/${at(eventName)}/property`, 201, propertyOfRest, input),
    updateProperty: (eventName, name, changes) =>
      call('PATCH', `/${at(eventName)}/property`, 200, propertyOfRest, { name, ...changes }),
    deleteProperty: (eventName, name) => call('DELETE', `/${at(eventName)}/property/${at(name)}`, 204, () => null),
  };
}

type RestProperty = PropertyState & { groupName: string; archived: boolean };
type RestDefinition = Omit<DefinitionState, 'properties'> & { properties: RestProperty[] };

function propertyOfRest(document: RestProperty): PropertyState {
  const { name, label, type, fieldType, description, options, displayOrder, isDefault, createdAt, updatedAt } =
    document;
  const choices = options.map((option) => ({ label: option.label, value: option.value }));
  return { name, label, type, fieldType, description, options: choices, displayOrder, isDefault, createdAt, updatedAt };
}

function definitionOfRest(document: RestDefinition): DefinitionState {
  const {
    id,
    name,
    fullyQualifiedName,
    objectTypeId,
    label,
    description,
    primaryObject,
    customMatchingId,
    includeDefaultProperties,
  } = document;
  const { properties, createdAt, updatedAt } = document;
  const head = {
    id,
    name,
    fullyQualifiedName,
    objectTypeId,
    label,
    description,
    primaryObject,
    customMatchingId,
    includeDefaultProperties,
  };
  return { ...head, properties: properties.map(propertyOfRest), createdAt, updatedAt };
}

function pageOfRest({ results, total }: { results: { name: string }[]; total: number }): Page {
  return { names: results.map(({ name }) => name), total };
}

export const PROPERTY_FIELDS =
  'name label type fieldType description options { label value } displayOrder isDefault createdAt updatedAt';
export const DEFINITION_FIELDS = `databaseId name fullyQualifiedName objectTypeId label description primaryObject
  customMatchingId { primaryObjectRule { targetObjectPropertyName eventPropertyName } } includeDefaultProperties
  properties { ${PROPERTY_FIELDS} } createdAt updatedAt`;
const ERROR_FIELDS = '... on Error { message code path } ... on ValidationError { faults { path code message } }';

interface GraphQLRefusal {
  message: string;
  code: string;
  path: string[] | null;
  faults?: { path: string[]; code: string; message: string }[];
}

export function graphqlDoor(gateway: TestGateway, key: string): Door {
  async function mutate<Payload, Value>(
    name: string,
    input: object,
    selection: string,
    toValue: (payload: Payload) => Value,
  ): Promise<Outcome<Value>> {
    const typename = name.charAt(0).toUpperCase() + name.slice(1);
    const query = `mutation Run($input: ${typename}Input!) { ${name}(input: $input) { typename: __typename ... on ${typename}Payload { ${selection} } ${ERROR_FIELDS} } }`;
    const answer = await gateway.graphql<Record<string, Payload & GraphQLRefusal & { typename: string }>>(key, query, {
      input: upperCaseTypes(input),
    });
    const result = answer.data?.[name];
    if (!result) return { refused: topLevelRefusal(answer.errors) };
    return result.typename.endsWith('Payload') ? { value: toValue(result) } : { refused: refusalOf(result) };
  }
  return {
    door: 'GraphQL',
    create: (input) =>
      mutate('createEventDefinition', input, `eventDefinition { ${DEFINITION_FIELDS} }`, definitionOfGraphQL),
    async read(eventName) {
      const query = `query Read($name: String!) { eventDefinition(name: $name) { ${DEFINITION_FIELDS} } }`;
      const { data, errors } = await gateway.graphql<{ eventDefinition: GraphQLDefinition | null }>(key, query, {
        name: eventName,
      });
      if (errors) return { refused: topLevelRefusal(errors) };
      // A query says null where REST says 404.
      return data?.eventDefinition
        ? { value: definitionOfGraphQL({ eventDefinition: data.eventDefinition }) }
        : { refused: NOT_FOUND };
    },
    async search({ searchString, limit, sortOrder = 'ASC' }) {
      const query = `query Search($search: String, $first: Int, $direction: OrderDirection!) { viewer { organization {
        eventDefinitions(search: $search, first: $first, orderBy: { field: NAME, direction: $direction }) { totalCount nodes { name } } } } }`;
      const variables = { search: searchString, first: limit, direction: sortOrder };
      type Found = {
        viewer: { organization: { eventDefinitions: { totalCount: number; nodes: { name: string }[] } } };
      };
      const { data, errors } = await gateway.graphql<Found>(key, query, variables);
      if (errors || !data) return { refused: topLevelRefusal(errors) };
      const { nodes, totalCount } = data.viewer.organization.eventDefinitions;
      return { value: { names: nodes.map(({ name }) => name), total: totalCount } };
    },
    update: (eventName, changes) =>
      mutate(
        'updateEventDefinition',
        { eventName, ...changes },
        `eventDefinition { ${DEFINITION_FIELDS} }`,
        definitionOfGraphQL,
      ),
    delete: (eventName) => mutate('deleteEventDefinition', { eventName }, 'deletedId deletedName', () => null),
    addProperty: (eventName, input) =>
      mutate('addEventProperty', { eventName, ...input }, `property { ${PROPERTY_FIELDS} }`, propertyPayload),
    updateProperty: (eventName, name, changes) =>
      mutate(
        'updateEventProperty',
        { eventName, name, ...changes },
        `property { ${PROPERTY_FIELDS} }`,
        propertyPayload,
      ),
    deleteProperty: (eventName, name) => mutate('deleteEventProperty', { eventName, name }, 'deletedName', () => null),
  };
}

const NOT_FOUND: Refusal = {
  status: 404,
  message: 'event definition not found',
  faults: [{ message: 'event definition not found', code: 'not_found', in: '' }],
};

type GraphQLDefinition = Omit<DefinitionState, 'id'> & { databaseId: string };

function propertyOfGraphQL(property: PropertyState): PropertyState {
  return { ...property, type: property.type.toLowerCase(), fieldType: property.fieldType.toLowerCase() };
}

export function propertyPayload({ property }: { property: PropertyState }): PropertyState {
  return propertyOfGraphQL(property);
}

export function definitionOfGraphQL({ eventDefinition }: { eventDefinition: GraphQLDefinition }): DefinitionState {
  const { databaseId, properties, ...rest } = eventDefinition;
  return { id: databaseId, ...rest, properties: properties.map(propertyOfGraphQL) };
}

/** GraphQL spells enum values in capitals; everything else of an input is the same. */
function upperCaseTypes(input: object): object {
  return JSON.parse(JSON.stringify(input), (name, value: unknown) =>
    name === 'type' && typeof value === 'string' ? value.toUpperCase() : value,
  ) as object;
}

function statusOf(code: string): number {
  const kind = Object.entries(CODE_OF).find(([, spelled]) => spelled === code)?.[0];
  return STATUS_OF[kind as ErrorKind];
}

function refusalOf({ message, code, path, faults }: GraphQLRefusal): Refusal {
  // The message of a single fault names its field, which its place says.
  const bare = path ? message.replace(`${path.join('.')}: `, '') : message;
  const listed = faults ?? [{ message: bare, code: code.toLowerCase(), path: path ?? [] }];
  return {
    status: statusOf(code),
    message,
    faults: listed.map((fault) => ({ message: fault.message, code: fault.code, in: fault.path.join('.') })),
  };
}

function topLevelRefusal(errors: readonly { message: string; extensions?: Record<string, unknown> }[] = []): Refusal {
  const [error] = errors;
  return { status: statusOf(String(error?.extensions?.['code'])), message: error?.message ?? '', faults: [] };
}
