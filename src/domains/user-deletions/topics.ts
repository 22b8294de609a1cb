/** Published when a deletion has changed its state. */
export function deletionJobTopic(deletionJobId: string): string {
  return `deletion-job:${deletionJobId}`;
}
