import { RemoteFailedError } from '../../../core/errors.ts';
import { isObject } from '../../../core/is-object.ts';
import { parsedJson, withBody, withinStack } from '../../../core/outbound/changed-answers.ts';
import type { OutboundFetch, OutboundWork } from '../../../core/outbound/outbound.ts';
import { describedIn, mediaTypeOf, sayError, statusOf } from '../remote/answers.ts';
import { RefusedError, hideSecrets } from '../remote/errors.ts';
import { membersWithoutNulls } from '../remote/tolerance.ts';

/**
 * The `fetch` of the official client package for requests to authorization servers, which write null for what they do not have, leave out
 * what has one usual value, and refuse in many ways. Their answers are changed before the package reads them. Nothing here concerns the
 * protection of the user: issuer, state, PKCE, resource and redirect addresses are checked elsewhere.
 */

type Document = Readonly<Record<string, unknown>>;

interface Kind {
  /** The member without which the answer cannot be used. */
  readonly required: string;
  /** What the package gets of an answer without nulls. */
  readonly change: (answer: Document, request: string) => Document;
  readonly refusal: string;
  /** The next step for an administrator, by the code of the error. */
  readonly advice: (code: string | undefined) => string;
}

/** The next step for an administrator, by the code of an error. */
export const adviceFor = (code = ''): string => ADVICE[code] ?? '';

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: '; check clientId and clientSecret, or authorize again to register a new client',
  unauthorized_client: '; check what the client is allowed to do, or authorize again to register a new client',
  invalid_scope: '; give other scopes',
  invalid_target: '; the server expects another resource, which can be set in the settings of the connection',
  invalid_grant: '; authorize again',
};

export const TOKENS: Kind = {
  required: 'access_token',
  refusal: 'refused',
  advice: (code) =>
    code === 'access_denied'
      ? '; the server may expect an audience, which can be set in the settings of the connection'
      : adviceFor(code),
  change: ({ access_token, refresh_token, token_type, expires_in, scope, id_token }) =>
    defined({
      access_token,
      // Bearer is the only type of MCP.
      token_type: typeof token_type === 'string' && token_type !== '' ? token_type : 'Bearer',
      // Without a new refresh token, the old one stays.
      refresh_token: typeof refresh_token === 'number' ? String(refresh_token) : textIn(refresh_token),
      expires_in: numberIn(expires_in),
      scope: Array.isArray(scope) ? scope.map(String).join(' ') : typeof scope === 'string' ? scope : undefined,
      id_token: textIn(id_token),
    }),
};

export const REGISTRATION: Kind = {
  required: 'client_id',
  refusal: 'refused the registration of this client',
  advice: () => '; register a client there and give its clientId',
  // Servers change or leave out what was registered; only these members are used.
  change: ({ client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method }, request) => {
    const registered = parsedJson(request);
    return defined({
      redirect_uris: isObject(registered) ? registered['redirect_uris'] : [],
      client_id,
      client_secret: textIn(client_secret),
      client_secret_expires_at: numberIn(client_secret_expires_at),
      token_endpoint_auth_method: textIn(token_endpoint_auth_method)?.toLowerCase(),
    });
  },
};

/** @param secrets What is sent, and is never repeated in a message. */
export const oauthFetch =
  (work: OutboundWork, kind: Kind, secrets: readonly (string | undefined)[] = []): OutboundFetch =>
  async (url, init = {}) => {
    const response = await work.fetch(url, init);
    const { host, pathname } = new URL(url);
    const body = await response.text();
    const document = documentIn(body, response);
    const answer = isObject(document) ? withinStack(host, () => membersWithoutNulls(document)) : undefined;
    if (!response.ok || (answer && 'error' in answer && !(kind.required in answer)))
      throw refusalOf(kind, response, host + pathname, documentIn(hideSecrets(body, secrets), response));
    if (!answer) {
      const type = mediaTypeOf(response);
      const what =
        type === 'application/json' ? 'malformed JSON' : `${type ?? 'no media type'} instead of a JSON object`;
      throw new RemoteFailedError(
        `the authorization server answered with a malformed document: ${what} at ${host}${pathname}`,
      );
    }
    const required = answer[kind.required];
    if (!isPresent(required))
      throw new RemoteFailedError(
        `the authorization server answered with a malformed document: ${kind.required} ${required === undefined ? 'is missing' : 'must be a text'} in the answer of ${host}${pathname}`,
      );
    const changed = kind.change(answer, typeof init.body === 'string' ? init.body : '');
    const usable = JSON.stringify({ ...changed, [kind.required]: String(required) });
    return withBody(response, usable, 'application/json');
  };

function refusalOf(kind: Kind, response: Response, address: string, document: unknown): RemoteFailedError {
  const described = describedIn(document);
  const errorCode = described?.code?.toLowerCase();
  const { status: httpStatus } = response;
  if (!described && kind === TOKENS)
    return new RefusedError(`the authorization server answered with ${statusOf(response)} at ${address}`, {
      httpStatus,
    });
  const said = described ? `: ${sayError(described)}` : '';
  return new RefusedError(
    `the authorization server ${kind.refusal}${said} (HTTP ${httpStatus} at ${address})${kind.advice(errorCode)}`,
    { httpStatus, errorCode },
  );
}

/** Some servers answer with a form although JSON was asked for, and not all of them say so. */
function documentIn(body: string, response: Response): unknown {
  const isForm = mediaTypeOf(response) === 'application/x-www-form-urlencoded' || /^(?:access_token|error)=/.test(body);
  return parsedJson(body) ?? (isForm ? Object.fromEntries(new URLSearchParams(body)) : undefined);
}

const isPresent = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;

/** Numbers, also those that are written as text. Anything else is unknown. */
function numberIn(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

const defined = (document: Document): Document =>
  Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
