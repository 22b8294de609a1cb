import {
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';

/** The names of the root fields of an operation by response name. `@skip` and `@include` are ignored. */
export function rootFieldsOf(document: DocumentNode, operation: OperationDefinitionNode): ReadonlyMap<string, string> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  const fields = new Map<string, string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields.set((selection.alias ?? selection.name).value, selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else collectFragment(selection.name.value);
    }
  };
  // Each fragment is visited only once. Otherwise fragments that spread others twice would take exponential time.
  const collectFragment = (name: string): void => {
    const fragment = fragments.get(name);
    fragments.delete(name);
    if (fragment) collect(fragment.selectionSet);
  };
  collect(operation.selectionSet);
  return fields;
}
