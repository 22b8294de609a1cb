import { type DocumentNode, GraphQLError, Kind, validate } from 'graphql';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import type { CheckDocument } from '../../domains/operation-manifests/public.ts';
import { schema } from '../schema.ts';
import { deprecatedFieldsIn } from './deprecated-fields.ts';
import { adviceFor, costOf, sizeVariables } from './document-cost.ts';
import { withoutFoundValue } from './errors.ts';
import { parseDocument } from './limits.ts';

const MAX_FAULTS = 3;

/** Checks a document before it is published, as a request with it would be checked. */
export const checkManifestDocument: CheckDocument = (text) => {
  try {
    const document = parseDocument(text);
    const errors = validate(schema, document, undefined, { maxErrors: MAX_FAULTS });
    if (errors.length > 0) return refused(errors.slice(0, MAX_FAULTS).map(withoutFoundValue));
    const { faults, warnings } = costsOf(document);
    return { faults, warnings, deprecatedFields: deprecatedFieldsIn(schema, document) };
  } catch (error) {
    if (error instanceof GraphQLError) return refused([withoutFoundValue(error)]);
    throw error;
  }
};

const refused = (errors: readonly GraphQLError[]) => ({
  faults: errors.map(({ message }) => message),
  warnings: [],
  deprecatedFields: [],
});

/** An operation that costs too much with pages of one item is a fault; one that does with the usual pages is a warning. */
function costsOf(document: DocumentNode) {
  const smallest = Object.fromEntries(sizeVariables(document).map((name) => [name, 1]));
  const found = { faults: [] as string[], warnings: [] as string[] };
  for (const node of document.definitions) {
    if (node.kind !== Kind.OPERATION_DEFINITION) continue;
    const request = { schema, document, operationName: node.name?.value };
    const [least, usual] = [costOf({ ...request, variables: smallest }), costOf(request)];
    if (usual <= LIMITS.cost) continue;
    const words = `costs ${usual} with the usual page sizes; at most ${LIMITS.cost} are allowed. ${adviceFor(request)}`;
    if (least > LIMITS.cost) found.faults.push(`costs at least ${least}; at most ${LIMITS.cost} are allowed`);
    else found.warnings.push(words);
  }
  return found;
}
