import { type DocumentNode, GraphQLError, Kind, getOperationAST } from 'graphql';

/** So many names are listed, and so many characters of each. */
const MAX_NAMES = 10;
const MAX_LENGTH = 100;

/** @throws GraphQLError if the document has no operation with the name or, without a name, not exactly one operation. It lists the names that exist. */
export function requireOperation(document: DocumentNode, operationName: string | null | undefined): void {
  if (getOperationAST(document, operationName)) return;
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const names = operations.flatMap((each) => ('name' in each && each.name ? [quoted(each.name.value)] : []));
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const known = names.length > 0 ? names.slice(0, MAX_NAMES).join(', ') + more : 'none with a name';
  throw new GraphQLError(messageOf(operations.length, operationName, known), {
    extensions: { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } },
  });
}

function messageOf(count: number, operationName: string | null | undefined, known: string): string {
  if (count === 0) return 'The document has no operation, only fragments.';
  if (operationName == null)
    return `The document has ${count} operations; name one of them in operationName: ${known}.`;
  return `operationName: the document has no operation named ${quoted(operationName)}; it has ${known}.`;
}

const quoted = (name: string) => `"${name.slice(0, MAX_LENGTH)}"`;
