/** The largest number of a list of any length; `least` if none is larger. `Math.max(...numbers)` fails for very long lists. */
export function largest(numbers: readonly number[], least: number): number {
  return numbers.reduce((most, number) => Math.max(most, number), least);
}
