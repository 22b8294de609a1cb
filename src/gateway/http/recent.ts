/**
 * What was found at most `maxAgeMs` ago: asking often costs no more than asking once. Callers who ask meanwhile wait for the same answer. A
 * failure is not kept.
 */
export function recent<Found>(
  find: () => Promise<Found>,
  { maxAgeMs, clock = () => performance.now() }: { readonly maxAgeMs: number; readonly clock?: () => number },
): () => Promise<Found> {
  let finding: Promise<Found> | undefined;
  let known: { readonly found: Found; readonly at: number } | undefined;

  async function findAgain(): Promise<Found> {
    const at = clock();
    try {
      const found = await find();
      known = { found, at };
      return found;
    } finally {
      finding = undefined;
    }
  }

  return async () => {
    if (known && clock() - known.at < maxAgeMs) return known.found;
    return (finding ??= findAgain());
  };
}
