import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  Kind,
  getArgumentValues,
  getNamedType,
  isObjectType,
} from 'graphql';
import { NotFoundError } from '../errors.ts';

/**
 * Reads a page below an object without reading the object, because the statement of the page checks who may see the object. So `session(id: …)
 * { id events { … } }` needs one statement instead of two consecutive ones.
 */

/** Marks a field whose statement also checks its parent: it fails with NotFoundError if the caller may not see the parent. */
export const CHECKS_PARENT = { checksParent: true };

interface Read {
  readonly node: FieldNode;
  readonly value: unknown;
}

/** The property of a row that has the results read below it. A WeakMap would keep them until the next major garbage collection. */
const READ = Symbol('read');

interface ReadRow {
  [READ]?: Read;
}

const checking = new WeakMap<FieldNode, FieldNode | null>();

/**
 * Returns a row, of which only the key is known, after reading the field below it that checks it; null if the caller may not see it. Undefined
 * if there is no such field or it fails otherwise: then the row must be read.
 */
export async function readThrough<Row extends object>(
  key: Partial<Row>,
  context: object,
  info: GraphQLResolveInfo,
): Promise<Row | null | undefined> {
  const type = getNamedType(info.returnType);
  const node = isObjectType(type) ? checkingFieldOf(info, type) : undefined;
  if (!node || !isObjectType(type)) return undefined;
  // Only fields that need no other column of the row are read below it.
  const row = key as Row;
  try {
    const value = await readField(row, node, context, { ...info, parentType: type });
    const marked: ReadRow = row;
    marked[READ] = { node, value };
    return row;
  } catch (error) {
    return error instanceof NotFoundError ? null : undefined;
  }
}

/** The result that {@link readThrough} has read for the current field. */
export function takeRead(row: object, { fieldNodes }: GraphQLResolveInfo): unknown {
  const { [READ]: read }: ReadRow = row;
  return read?.node === fieldNodes[0] ? read?.value : undefined;
}

function readField(row: object, node: FieldNode, context: object, info: GraphQLResolveInfo): unknown {
  const { parentType } = info;
  const field = parentType.getFields()[node.name.value];
  if (!field?.resolve) throw new TypeError('a field that checks its parent has a resolver');
  const path = { prev: info.path, key: (node.alias ?? node.name).value, typename: parentType.name };
  const own = { ...info, fieldName: field.name, fieldNodes: [node], returnType: field.type, path };
  return field.resolve(row, getArgumentValues(field, node, info.variableValues), context, own);
}

/** Considers only plain fields with different names, because others could be merged with it. */
function checkingFieldOf({ fieldNodes }: GraphQLResolveInfo, type: GraphQLObjectType): FieldNode | undefined {
  const [field, ...more] = fieldNodes;
  if (!field || more.length > 0) return undefined;
  let found = checking.get(field);
  if (found === undefined) checking.set(field, (found = findChecking(field, type)));
  return found ?? undefined;
}

function findChecking({ selectionSet }: FieldNode, type: GraphQLObjectType): FieldNode | null {
  const names = new Set<string>();
  let found: FieldNode | null = null;
  for (const selection of selectionSet?.selections ?? []) {
    if (selection.kind !== Kind.FIELD || selection.directives?.length) return null;
    names.add((selection.alias ?? selection.name).value);
    if (type.getFields()[selection.name.value]?.extensions['checksParent'] === true) found ??= selection;
  }
  return names.size === selectionSet?.selections.length ? found : null;
}
