import {
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  type SelectionNode,
  TypeInfo,
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Execute } from '../../graphql-executor/executor.ts';
import { toGlobalId } from '../../core/graphql/global-ids.ts';

/**
 * The replay of an answer that was too large to be kept: the object that the mutation has changed is read again, with what the payload
 * selects of it, and stands in the kept answer in place of its remains.
 */

/** The changed object. */
export interface ChangedObject {
  readonly type: string;
  readonly id: string;
}

interface Kept {
  readonly data: Readonly<Record<string, unknown>>;
  readonly errors: readonly GraphQLFormattedError[];
}

/** A field of a payload that gives the changed object: its path in the answer, and what is selected of the object. */
interface Place {
  readonly path: readonly [mutation: string, field: string];
  readonly selections: readonly SelectionNode[];
}

const OBJECT = 'object';

/** The answer with the object as it is now, or the kept one if it does not give the object, or the caller cannot read it. */
export async function withObjectReadAgain(
  kept: Kept,
  { type, id }: ChangedObject,
  args: ExecutionArgs,
  run: Execute,
): Promise<Kept> {
  const place = placeOf(args, type);
  if (!place) return kept;
  const { data, errors = [] } = await run({ ...args, ...queryFor(args.document, { type, id }, place) });
  const object = data?.[OBJECT];
  const [mutation, field] = place.path;
  const payload = kept.data[mutation];
  if (object == null || typeof payload !== 'object' || payload === null) return kept;
  const isOfObject = ({ path }: GraphQLFormattedError) => path?.[0] === mutation && path[1] === field;
  const moved = errors.map(({ message, path = [], extensions }) => ({
    message,
    path: [...place.path, ...path.slice(1)],
    extensions,
  }));
  return {
    data: { ...kept.data, [mutation]: { ...payload, [field]: object } },
    errors: [...kept.errors.filter((error) => !isOfObject(error)), ...moved],
  };
}

/** The first field of a payload with this type, in the only mutation of the document. */
function placeOf({ schema, document }: ExecutionArgs, type: string): Place | undefined {
  const types = new TypeInfo(schema);
  const found: FieldNode[] = [];
  let mutation: string | undefined;
  visit(
    document,
    visitWithTypeInfo(types, {
      Field(node) {
        const parent = types.getParentType();
        if (parent === schema.getMutationType()) {
          mutation = nameOf(node);
          return undefined;
        }
        if (isPayload(parent?.name, schema) && isObjectOf(types.getType(), type)) found.push(node);
        // Deeper fields are no members of the payload.
        return false;
      },
    }),
  );
  const [first] = found;
  if (!first || mutation === undefined) return undefined;
  const same = found.filter((node) => nameOf(node) === nameOf(first));
  return { path: [mutation, nameOf(first)], selections: same.flatMap((node) => node.selectionSet?.selections ?? []) };
}

const nameOf = ({ alias, name }: FieldNode) => (alias ?? name).value;

/** Whether a type is the payload of a mutation. */
function isPayload(name: string | undefined, schema: GraphQLSchema): boolean {
  return name?.endsWith('Payload') === true && isObjectType(schema.getType(name));
}

function isObjectOf(type: ReturnType<TypeInfo['getType']>, name: string): boolean {
  if (!type) return false;
  const nullable = isNonNullType(type) ? type.ofType : type;
  return !isListType(nullable) && getNamedType(type).name === name;
}

/** The document with a query for the object in place of the mutation. It keeps the fragments and the variables. */
function queryFor(document: DocumentNode, { type, id }: ChangedObject, { selections }: Place) {
  const name = (value: string) => ({ kind: Kind.NAME, value }) as const;
  const node: FieldNode = {
    kind: Kind.FIELD,
    alias: name(OBJECT),
    name: name('node'),
    arguments: [{ kind: Kind.ARGUMENT, name: name('id'), value: { kind: Kind.STRING, value: toGlobalId(type, id) } }],
    selectionSet: {
      kind: Kind.SELECTION_SET,
      selections: [
        {
          kind: Kind.INLINE_FRAGMENT,
          typeCondition: { kind: Kind.NAMED_TYPE, name: name(type) },
          selectionSet: { kind: Kind.SELECTION_SET, selections },
        },
      ],
    },
  };
  const definitions = document.definitions.map((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION
      ? {
          ...definition,
          operation: OperationTypeNode.QUERY,
          selectionSet: { kind: Kind.SELECTION_SET, selections: [node] } as const,
        }
      : definition,
  );
  return { document: { ...document, definitions } };
}
