/** The JSON of a REST answer, or the payload of a mutation. */
export type Answer = Readonly<Record<string, unknown>>;

/** The id of the object that an answer is, or has in one of its members. */
export function createdId(answer: Answer): unknown {
  const entries = Object.entries(answer);
  const id = entries.find(([name]) => /^(?:id|databaseId|broadcastGuid|deletionJobId)$/.test(name));
  if (id) return id[1];
  const [below] = entries.flatMap(([, value]) => (typeof value === 'object' && value !== null ? [value] : []));
  return below === undefined ? undefined : createdId({ ...below });
}
