const MAX_DISTANCE = 2;

/**
 * The end of a message about an unknown name: the known one that it means, if one differs in at most two characters and less than half of
 * them; case is ignored. Empty if none does. @param shown how the known one is written
 */
export function suggestion(
  name: string,
  known: readonly string[],
  shown = (nearest: string): string => nearest,
): string {
  const [nearest] = known
    .filter((each) => Math.abs(each.length - name.length) <= MAX_DISTANCE)
    .map((each) => ({ each, distance: distanceOf(each.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE && distance < name.length / 2)
    .toSorted((one, other) => one.distance - other.distance);
  return nearest ? `; did you mean ${shown(nearest.each)}?` : '';
}

/** The edit distance of Levenshtein. */
function distanceOf(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [row, letter] of one.split('').entries()) {
    const line = [row + 1];
    for (const [column, each] of other.split('').entries())
      line.push(
        Math.min(
          (above[column] ?? 0) + (each === letter ? 0 : 1),
          (above[column + 1] ?? 0) + 1,
          (line[column] ?? 0) + 1,
        ),
      );
    above = line;
  }
  return above.at(-1) ?? 0;
}
