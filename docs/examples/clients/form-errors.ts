/** A refused mutation, as selected by `... on Error` and `... on ValidationError` in operations.graphql. */
interface Refusal {
  readonly message: string;
  readonly path?: readonly string[] | null;
  readonly faults?: readonly { readonly path: readonly string[]; readonly message: string }[];
}

/** The messages of a form: for each field under its path (`remote.headers.1.name`), and for the whole form under ''. */
export function messagesByField({ message, path, faults }: Refusal): Map<string, string> {
  const messages = new Map<string, string>();
  for (const fault of faults ?? [{ path: path ?? [], message }]) {
    const field = fault.path.join('.');
    messages.set(field, [messages.get(field), fault.message].filter(Boolean).join('; '));
  }
  return messages;
}
