import type { SessionEventRow } from './queries.ts';

/** The documented JSON of an event (Workspace Management API, section 6). The recorded JSON text of its data is inserted unchanged. */
export function eventToJson(row: SessionEventRow): string {
  const { id, createdAt, eventType, messageId, sessionId, provider, eventData } = row;
  const message = messageId === null ? 'null' : `"${messageId}"`;
  return `{"id":${id},"createdAt":"${createdAt}","eventType":${JSON.stringify(eventType)},"messageId":${message},"sessionId":"${sessionId}","provider":${JSON.stringify(provider)},"eventData":${eventData}}`;
}
