/**
 * Compares a table of cases with the names that need one: returns a line for each case to add or remove, with the file to edit (`where`).
 * Expected to be empty, so that a failure shows these lines.
 */
export function caseFaults(where: string, cases: Iterable<string>, names: Iterable<string>): string {
  const [given, wanted] = [new Set(cases), new Set(names)];
  // Without names the comparison would prove nothing.
  if (wanted.size === 0) return `nothing needs a case in ${where}`;
  const missing = [...wanted].filter((name) => !given.has(name)).map((name) => `add a case for ${name} to ${where}`);
  const unknown = [...given].filter((name) => !wanted.has(name));
  return [...missing, ...unknown.map((name) => `remove the case for ${name} from ${where}: there is no ${name}`)].join(
    '\n',
  );
}
