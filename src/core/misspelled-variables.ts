/** Beginnings of names that only settings of the gateway have. */
const PREFIXES = ['DATABASE_', 'ENCRYPTION_', 'OAUTH_', 'OIDC_', 'PERSISTED_OPERATIONS', 'RATE_LIMIT', 'RETENTION_'];
/** Kubernetes sets these for a service with the name `database`. */
const OF_SERVICES = /_(?:SERVICE|PORT)(?:_|$)/;
const MAX_DISTANCE = 2;

/**
 * One line for each environment variable that is no setting but looks like one: it begins like one, or differs from one in at most two
 * characters. Names without `_`, such as HOST and HOME, are too much like those of other programs.
 */
export const misspelledVariables = (
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] =>
  Object.keys(env)
    .filter((name) => env[name] && !known.includes(name) && !OF_SERVICES.test(name))
    .flatMap((name) => {
      const nearest = nearestOf(name, known);
      if (nearest !== undefined) return [`${name}: is not a setting; did you mean ${nearest}?`];
      const isOurs = PREFIXES.some((prefix) => name.startsWith(prefix));
      return isOurs ? [`${name}: is not a setting; docs/configuration.md lists them`] : [];
    });

function nearestOf(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .filter((each) => each.includes('_') && Math.abs(each.length - name.length) <= MAX_DISTANCE)
    .map((each) => ({ each, distance: distanceOf(each, name.toUpperCase()) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .toSorted((one, other) => one.distance - other.distance);
  return nearest?.each;
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
