import { isObject } from '../../../core/is-object.ts';
import { changingJson } from '../../../core/outbound/changed-answers.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';

/**
 * Authorization servers write null for what they do not have, and leave out what has one usual value. The official client package refuses
 * such documents, so they are changed before it reads them. Nothing here concerns the protection of the user: issuer, state, PKCE, resource
 * and redirect addresses are checked as they are.
 */

type Document = Readonly<Record<string, unknown>>;

/** Kinds of documents, and what is changed in them after members that are null have been removed. */
const RULES: readonly {
  readonly applies: (document: Document) => boolean;
  readonly change: (document: Document) => Document;
}[] = [
  {
    // Metadata of an authorization server: the code flow is the only one that is used.
    applies: (document) => 'authorization_endpoint' in document && !('response_types_supported' in document),
    change: (document) => ({ ...document, response_types_supported: ['code'] }),
  },
  {
    // A token answer without a type: Bearer is the only type of MCP.
    applies: (document) => 'access_token' in document && !('token_type' in document),
    change: (document) => ({ ...document, token_type: 'Bearer' }),
  },
  {
    // An empty new refresh token: the old one stays.
    applies: (document) => 'access_token' in document && document['refresh_token'] === '',
    change: (document) => ({ ...document, refresh_token: undefined }),
  },
];

/** Members that are null count as absent, at any depth. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (item === null ? [] : [[name, withoutNulls(item)]])),
  );
}

function changed(document: Document): Document {
  return RULES.reduce((current, { applies, change }) => (applies(current) ? change(current) : current), document);
}

/** A `fetch` whose JSON answers are changed by the rules. */
export function tolerant(fetch: OutboundWork['fetch']): OutboundWork['fetch'] {
  return changingJson(fetch, (document) => {
    const known = withoutNulls(document);
    return isObject(known) ? changed(known) : known;
  });
}
