/**
 * Caches the result of `find` for `maxAgeMs`, so that frequent calls are cheap. Concurrent callers share one call. A failure is not cached.
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
