import { JSON_TYPE, chooseMediaType } from '../../core/http/accept.ts';
import { EVENT_STREAM } from '../../core/http/server-sent-events.ts';

/** The media types of answers (GraphQL over HTTP, section 6; GraphQL over Server-Sent Events, distinct connections mode). */
export { EVENT_STREAM, JSON_TYPE };
export const RESPONSE_TYPE = 'application/graphql-response+json';
export const MEDIA_TYPES: readonly string[] = [JSON_TYPE, RESPONSE_TYPE, EVENT_STREAM];

/**
 * The media type of a single result. A client without preferences gets the one that the specification defines (section
 * 6.1, "Legacy watershed");
 * browsers and curl say that they accept everything, and get plain JSON. Events are used only when the client accepts nothing else, because they always have status 200. */
export function resultTypeFor(accept: string | null): string | undefined {
  if (accept === null || accept === '') return RESPONSE_TYPE;
  return chooseMediaType(accept, [JSON_TYPE, RESPONSE_TYPE]) ?? chooseMediaType(accept, [EVENT_STREAM]);
}

export function acceptsEvents(accept: string | null): boolean {
  return chooseMediaType(accept, [EVENT_STREAM]) !== undefined;
}
