/**
 * Compares a table of cases with the names that need one: returns a line for each case to add or remove, with the file to edit (`where`,
 * which may depend on the name).
 * Expected to be empty, so that a failure shows these lines.
 */
export function caseFaults(
  where: string | ((name: string) => string),
  cases: Iterable<string>,
  names: Iterable<string>,
): string {
  const placeOf = typeof where === 'string' ? () => where : where;
  const [given, wanted] = [new Set(cases), new Set(names)];
  // Without names the comparison would prove nothing.
  if (wanted.size === 0) return `nothing needs a case in ${placeOf('')}`;
  const missing = [...wanted]
    .filter((name) => !given.has(name))
    .map((name) => `add a case for ${name} to ${placeOf(name)}`);
  const unknown = [...given].filter((name) => !wanted.has(name));
  return [
    ...missing,
    ...unknown.map((name) => `remove the case for ${name} from ${placeOf(name)}: there is no ${name}`),
  ].join('\n');
}
