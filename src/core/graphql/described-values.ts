/** The values of an enumeration, which are the names of their descriptions. */
export const describedValues = <Value extends string>(descriptions: Readonly<Record<Value, string>>) =>
  Object.fromEntries(
    Object.entries<string>(descriptions).map(([value, description]) => [value, { description }]),
  ) as Record<Value, { description: string }>;
