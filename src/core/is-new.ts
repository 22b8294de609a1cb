/** Whether a value is not in the set yet; then it is added. */
export function isNew<Value>(values: Set<Value>, value: Value): boolean {
  const { size } = values;
  return values.add(value).size > size;
}
