import type { HttpHeaders } from '../../core/http/messages.ts';
import type { NamedClient } from '../../domains/operation-manifests/public.ts';

/** The headers in which clients name themselves: those of GraphQL tools in general, and those of Apollo's clients. */
const NAME_HEADERS = ['graphql-client-name', 'apollographql-client-name'];
const VERSION_HEADERS = ['graphql-client-version', 'apollographql-client-version'];

/** The same over WebSocket, where they are members of `connection_init`. */
export const CLIENT_HEADERS: readonly string[] = [...NAME_HEADERS, ...VERSION_HEADERS];

export function namedClientOf(headers: HttpHeaders): NamedClient {
  return { client: firstOf(headers, NAME_HEADERS), version: firstOf(headers, VERSION_HEADERS) };
}

function firstOf(headers: HttpHeaders, names: readonly string[]): string | null {
  return names.map((name) => headers.get(name)).find((value) => value !== null && value !== '') ?? null;
}
