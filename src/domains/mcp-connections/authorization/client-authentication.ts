import type { AddClientAuthentication } from '@modelcontextprotocol/client';
import { RefusedError } from '../remote/errors.ts';
import {
  type AuthorizationServer,
  type ClientAuthenticationMethod,
  METHODS,
  type OAuthClient,
} from './authorization-server.ts';

/**
 * How the gateway proves to an authorization server that it is its client, the same for every request (RFC 6749, section 2.3.1). The official
 * client package does not encode the credentials for HTTP Basic, and does not use a method that only the registration names.
 */

/** Codes of errors that say that the server does not know the client (RFC 6749, sections 4.1.2.1 and 5.2). */
export const UNKNOWN_CLIENT: ReadonlySet<string | undefined> = new Set(['invalid_client', 'unauthorized_client']);

type Methods = readonly [ClientAuthenticationMethod, ...ClientAuthenticationMethod[]];

/**
 * The methods to try. First the one that has worked before, else the one of the registration, else the best that the server offers; then
 * the others that the server offers, and credentials as they are if HTTP Basic was the first.
 */
export function methodsFor(client: OAuthClient, server: AuthorizationServer): Methods {
  if (client.client_secret === undefined) return ['none'];
  const offered = server.metadata.token_endpoint_auth_methods_supported ?? [];
  const registered = METHODS.find((method) => method === client.token_endpoint_auth_method);
  const first = server.clientAuthentication ?? registered ?? bestOf(offered);
  // The registration of some servers names another method than the one that they take.
  const takes = (method: ClientAuthenticationMethod) =>
    method !== first && (first === 'none' || offered.length === 0 || offered.includes(method));
  const others: Readonly<Record<ClientAuthenticationMethod, boolean>> = {
    client_secret_basic: first !== 'unencoded_basic' && takes('client_secret_basic'),
    unencoded_basic: first === 'client_secret_basic' && basicCredentials(client) !== unencodedCredentials(client),
    client_secret_post: takes('client_secret_post'),
    none: false,
  };
  return [first, ...METHODS.filter((method) => others[method])];
}

/** A client with a secret sends it, whatever the list says: it would be refused without. */
const bestOf = (offered: readonly string[]): ClientAuthenticationMethod =>
  offered.length === 0 || offered.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post';

/** What a request has to carry: the header `Authorization`, or members of its form. */
export function credentialsFor(
  method: ClientAuthenticationMethod,
  client: OAuthClient,
): { readonly authorization?: string; readonly form: Readonly<Record<string, string>> } {
  if (method.endsWith('_basic')) {
    const credentials = method === 'unencoded_basic' ? unencodedCredentials(client) : basicCredentials(client);
    return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}`, form: {} };
  }
  const { client_id, client_secret = '' } = client;
  return { form: method === 'client_secret_post' ? { client_id, client_secret } : { client_id } };
}

const basicCredentials = ({ client_id: id, client_secret: secret = '' }: OAuthClient): string =>
  `${formEncoded(id)}:${formEncoded(secret)}`;

const unencodedCredentials = ({ client_id: id, client_secret: secret = '' }: OAuthClient): string => `${id}:${secret}`;

/** The encoding `application/x-www-form-urlencoded` (RFC 6749, appendix B). */
const formEncoded = (value: string): string => new URLSearchParams({ '': value }).toString().slice(1);

/** The parameters of all token requests to this server, in the form that the package takes. */
export const authenticationOf =
  (
    method: ClientAuthenticationMethod,
    client: OAuthClient,
    { audience }: AuthorizationServer,
  ): AddClientAuthentication =>
  (headers, form) => {
    const { authorization, form: members } = credentialsFor(method, client);
    if (authorization !== undefined) headers.set('Authorization', authorization);
    for (const [name, value] of Object.entries(members)) form.set(name, value);
    if (audience != null) form.set('audience', audience);
  };

/** Sends a request with each method until the server knows the client. @returns the answer, and the server with the method that has worked. */
export async function withAuthentication<Answer>(
  client: OAuthClient,
  server: AuthorizationServer,
  send: (authentication: AddClientAuthentication) => Promise<Answer>,
  methods: readonly ClientAuthenticationMethod[] = methodsFor(client, server),
): Promise<{ readonly answer: Answer; readonly server: AuthorizationServer }> {
  for (const [index, method] of methods.entries()) {
    try {
      const answer = await send(authenticationOf(method, client, server));
      return { answer, server: index === 0 ? server : { ...server, clientAuthentication: method } };
    } catch (error) {
      if (index === methods.length - 1 || !isUnknownClient(error)) throw error;
    }
  }
  throw new Error('a client has at least one method');
}

/**
 * Whether the authorization server does not know the client, or not with these credentials (RFC 6749, section 5.2). Some servers do not
 * look for credentials in other places, and call the request invalid.
 */
function isUnknownClient(error: unknown): boolean {
  if (!(error instanceof RefusedError)) return false;
  const { errorCode, httpStatus, message } = error;
  if (errorCode === undefined) return httpStatus === 401;
  return UNKNOWN_CLIENT.has(errorCode) || (errorCode === 'invalid_request' && message.includes('client'));
}
