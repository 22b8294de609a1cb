/** What a mutation that was refused says, as in `... on Error` and `... on ValidationError` of operations.graphql. */
interface Refusal {
  readonly message: string;
  readonly path?: readonly string[] | null;
  readonly faults?: readonly { readonly path: readonly string[]; readonly message: string }[];
}

/** The messages of a form: of each field under its path with dots (`remote.headers.1.name`), and of the form as a whole under ''. */
export function messagesByField({ message, path, faults }: Refusal): Map<string, string> {
  const messages = new Map<string, string>();
  for (const fault of faults ?? [{ path: path ?? [], message }]) {
    const field = fault.path.join('.');
    messages.set(field, [messages.get(field), fault.message].filter(Boolean).join('; '));
  }
  return messages;
}
