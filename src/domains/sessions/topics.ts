/** Published when events were appended to a session, or its state or visibility has changed. */
export function sessionTopic(sessionId: string): string {
  return `session:${sessionId}`;
}

/** Published when a session of the organization was created or changed. */
export function sessionsTopic(organizationId: string): string {
  return `sessions:${organizationId}`;
}
