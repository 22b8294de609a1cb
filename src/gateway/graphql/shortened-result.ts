import {
  type ExecutionArgs,
  type ExecutionResult,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLNamedType,
  type GraphQLOutputType,
  Kind,
  type SelectionSetNode,
  getNamedType,
  getNullableType,
  getOperationAST,
  isCompositeType,
  isListType,
  isNonNullType,
} from 'graphql';
import { answerTooLarge } from '../../core/answer-size.ts';
import { stringifyWithRawJson } from '../../core/text/raw-json.ts';

/** A nullable value of a result, with the bytes of its JSON without those of the nullable values in it. */
interface Nullable {
  readonly path: readonly (string | number)[];
  readonly within: Nullable | undefined;
  readonly clear: () => void;
  bytes: number;
  isNull: boolean;
}

/** Further values are left out by leaving out whole mutations, so that the errors do not become a large answer themselves. */
const MAX_VALUES = 50;
/** For these errors and the extensions. */
const RESERVED_BYTES = 32 * 1024;

/**
 * The result of a mutation without the values that make it larger than `maxBytes`. The change was made, so the whole answer must not be an
 * error: the nullable values with the most bytes become null, with an error at their path.
 */
export function shortened(result: ExecutionResult, args: ExecutionArgs, maxBytes: number): ExecutionResult {
  const { data, errors = [] } = result;
  const room = maxBytes - RESERVED_BYTES - sizeOfJson(errors);
  const operation = getOperationAST(args.document, args.operationName);
  const type = operation && args.schema.getRootType(operation.operation);
  if (!data || !type) return result;
  const values = nullableValues(data, type, operation.selectionSet, args);
  const bySize = values.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_VALUES);
  const cleared: Nullable[] = [];
  for (const value of [...bySize, ...values.filter(({ path }) => path.length === 1)]) {
    if (values.reduce((sum, each) => (isLeftOut(each) ? sum : sum + each.bytes), 0) <= room) break;
    if (isLeftOut(value)) continue;
    value.clear();
    value.isNull = true;
    cleared.push(value);
  }
  if (cleared.length === 0) return result;
  const { message, code } = answerTooLarge(maxBytes);
  const added = cleared
    .filter(({ within }) => !within || !isLeftOut(within))
    .map(({ path }) => new GraphQLError(message, { path, extensions: { code } }));
  return { ...result, data, errors: [...errors, ...added] };
}

/**
 * What is stored of the result of a mutation that is too large to be stored: `__typename` and ids of the payload and of the objects in it. The
 * other fields are null, with an error at the path of each of the first {@link MAX_VALUES}.
 */
export function withIdsOnly({ data }: ExecutionResult, args: ExecutionArgs, maxBytes: number): ExecutionResult {
  const operation = getOperationAST(args.document, args.operationName);
  const type = operation && args.schema.getRootType(operation.operation);
  if (!data || !type) return { data };
  const { code } = answerTooLarge(maxBytes);
  const message = `this answer is a replay; the first one had more than ${maxBytes / 1024} KiB, so only its ids are stored: read the object again by its id`;
  const errors: GraphQLError[] = [];
  const reduce = (object: object, sets: readonly SelectedSet[], path: readonly (string | number)[]): object => {
    const fields = fieldsIn(sets, args);
    return Object.fromEntries(
      Object.entries(object).map(([name, value]: [string, unknown]) => {
        const field = fields.get(name);
        const at = [...path, name];
        const below = (item: unknown, place: readonly (string | number)[]) =>
          typeof item === 'object' && item !== null && field ? reduce(item, field.sets, place) : item;
        if (field && isId(field)) return [name, value];
        // The root has the payload, and the payload the objects.
        const isObject = field && path.length < 2 && isCompositeType(getNamedType(field.type));
        if (isObject && Array.isArray(value)) return [name, value.map((item, index) => below(item, [...at, index]))];
        if (isObject) return [name, below(value, at)];
        if (errors.length < MAX_VALUES) errors.push(new GraphQLError(message, { path: at, extensions: { code } }));
        return [name, null];
      }),
    );
  };
  const reduced = reduce(data, [{ set: operation.selectionSet, type }], []);
  return { data: { ...reduced }, errors };
}

const isId = ({ field, type }: Selected) =>
  field === '__typename' || getNamedType(type).name === 'ID' || field === 'databaseId';

const isLeftOut = ({ isNull, within }: Nullable): boolean => isNull || (within !== undefined && isLeftOut(within));
const sizeOfJson = (value: unknown) => Buffer.byteLength(stringifyWithRawJson(value));

function nullableValues(
  data: object,
  root: GraphQLNamedType,
  set: SelectionSetNode,
  args: ExecutionArgs,
): readonly Nullable[] {
  const values: Nullable[] = [];
  const visit = (
    value: unknown,
    { type, ...selected }: Selected,
    at: Pick<Nullable, 'path' | 'within' | 'clear'>,
  ): void => {
    let place = at.within;
    if (!isNonNullType(type) || !place) values.push((place = { ...at, bytes: 0, isNull: false }));
    const within = place;
    const plain = getNullableType(type);
    if (Array.isArray(value) && isListType(plain))
      value.forEach((item: unknown, index) =>
        visit(
          item,
          { ...selected, type: plain.ofType },
          {
            path: [...at.path, index],
            within,
            clear: () => void (value[index] = null),
          },
        ),
      );
    else if (typeof value === 'object' && value !== null && isCompositeType(plain))
      visitMembers(value, fieldsIn(selected.sets, args), { ...at, within });
    else within.bytes += sizeOfJson(value);
  };
  const visitMembers = (
    object: object,
    fields: ReadonlyMap<string, Selected>,
    { path, within }: Pick<Nullable, 'path' | 'within'>,
  ): void => {
    for (const [name, member] of Object.entries(object)) {
      if (within) within.bytes += name.length + 4;
      const field = fields.get(name);
      const clear = () => void Object.assign(object, { [name]: null });
      if (field) visit(member, field, { path: [...path, name], within, clear });
    }
  };
  visitMembers(data, fieldsIn([{ set, type: root }], args), { path: [], within: undefined });
  return values;
}

/** A selected field, with the sets of the fields below it. */
interface Selected {
  readonly field: string;
  readonly type: GraphQLOutputType;
  readonly sets: readonly SelectedSet[];
}

interface SelectedSet {
  readonly set: SelectionSetNode;
  readonly type: GraphQLNamedType;
}

/** The fields that are selected with each response name. If one of them cannot be null, no value of this name is. */
function fieldsIn(sets: readonly SelectedSet[], { schema, document }: ExecutionArgs): ReadonlyMap<string, Selected> {
  const fields = new Map<string, Selected>();
  const seen = new Set<SelectionSetNode>();
  const collect = (set: SelectionSetNode, parent: GraphQLNamedType): void => {
    if (seen.has(set)) return;
    seen.add(set);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const name = (selection.alias ?? selection.name).value;
        const type = isCompositeType(parent) && schema.getField(parent, selection.name.value)?.type;
        if (!type) continue;
        const known = fields.get(name);
        const below = selection.selectionSet && { set: selection.selectionSet, type: getNamedType(type) };
        fields.set(name, {
          field: selection.name.value,
          type: known && isNonNullType(known.type) ? known.type : type,
          sets: [...(known?.sets ?? []), ...(below ? [below] : [])],
        });
      } else {
        const fragment =
          selection.kind === Kind.INLINE_FRAGMENT ? selection : fragmentOf(document, selection.name.value);
        const condition = fragment?.typeCondition && schema.getType(fragment.typeCondition.name.value);
        if (fragment) collect(fragment.selectionSet, condition ?? parent);
      }
    }
  };
  for (const { set, type } of sets) collect(set, type);
  return fields;
}

const fragmentOf = (document: ExecutionArgs['document'], name: string): FragmentDefinitionNode | undefined =>
  document.definitions.find(
    (node): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION && node.name.value === name,
  );
