import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from 'graphql';

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/**
 * Handles rejections of promises in a value that is not read completely, because an unhandled rejection ends the process. (graphql-js would
 * wait for them.) Visits only the selected fields, and calls no getter.
 */
export function silence(value: unknown, fields: readonly FieldNode[], fragments: Fragments): void {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Promise) {
    value.then(
      (came: unknown) => silence(came, fields, fragments),
      () => undefined,
    );
  } else if (Array.isArray(value) || value instanceof Set) {
    for (const item of value) silence(item, fields, fragments);
  } else {
    const spread = new Set<string>();
    for (const { selectionSet } of fields) if (selectionSet) silenceProperties(value, selectionSet, fragments, spread);
  }
}

function silenceProperties(
  source: object,
  { selections }: SelectionSetNode,
  fragments: Fragments,
  spread: Set<string>,
): void {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      silence(Object.getOwnPropertyDescriptor(source, selection.name.value)?.value, [selection], fragments);
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      silenceProperties(source, selection.selectionSet, fragments, spread);
    } else if (!spread.has(selection.name.value)) {
      spread.add(selection.name.value);
      const fragment = fragments[selection.name.value];
      if (fragment) silenceProperties(source, fragment.selectionSet, fragments, spread);
    }
  }
}
