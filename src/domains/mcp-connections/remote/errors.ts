import { mcpClient } from '../../../core/mcp-packages.ts';
import { z } from 'zod';
import { DomainError, RemoteFailedError, causesOf } from '../../../core/errors.ts';
import { OutboundError } from '../../../core/outbound/outbound.ts';
import { shown } from './answers.ts';
import type { Challenge } from './challenges.ts';

/** The server refuses the stored configuration. A retry does not help; the connection must be changed. */
export class MisconfiguredError extends RemoteFailedError {}

/** The authorization cannot be used any more, or not until somebody authorizes the connection again. */
export class AuthorizationLostError extends RemoteFailedError {
  readonly why: string;

  constructor(why: string, cause?: unknown) {
    super(`the MCP connection must be authorized: ${why}`, cause);
    this.why = why;
  }
}

export const HEADERS_REFUSED = 'the MCP server does not accept the headers (HTTP 401); change them';
export const CLIENT_TOKEN_REFUSED =
  'the MCP server does not accept the token that its authorization server issued for these client credentials: it may expect another scope, audience or resource';

/** An HTTP answer that refuses the request. */
export class RefusedError extends RemoteFailedError {
  readonly httpStatus: number;
  /** The error code of OAuth or JSON-RPC, if the answer has one. */
  readonly errorCode: string | undefined;

  constructor(
    message: string,
    { httpStatus, errorCode }: { readonly httpStatus: number; readonly errorCode?: string | undefined },
  ) {
    super(message);
    this.httpStatus = httpStatus;
    this.errorCode = errorCode;
  }

  /** Whether a retry of the same request can help (RFC 9110, section 15.5). */
  get isTemporary(): boolean {
    const { httpStatus, errorCode } = this;
    if (errorCode === 'invalid_grant') return false;
    if (errorCode === 'server_error' || errorCode === 'temporarily_unavailable') return true;
    return httpStatus < 400 ? errorCode === undefined : httpStatus >= 500 || httpStatus === 408 || httpStatus === 429;
  }
}

/** Whether the server accepts the token, but not what it may do. Another user, or another client, may do more. */
export const isForbidden = (error: unknown): boolean => error instanceof RefusedError && error.httpStatus === 403;

/** The server requires authorization, or more scopes (RFC 6750, section 3). */
export class AuthorizationNeeded extends Error {
  readonly resourceMetadataUrl: URL | undefined;
  /** The scope that the server requires. */
  readonly scope: string | undefined;
  /** Whether the token was valid, but lacks a scope. */
  readonly isStepUp: boolean;
  /** The version of the tokens that were sent; undefined when no stored tokens were used. */
  tokenVersion: number | undefined;

  constructor(challenge: Challenge, isStepUp = false) {
    super(isStepUp ? 'the server requires more scopes than were granted' : 'the server requires authorization');
    this.resourceMetadataUrl = challenge.resourceMetadataUrl;
    this.scope = challenge.scope;
    this.isStepUp = isStepUp;
  }
}

/**
 * Converts a failure of a request to `who` into an error that can be shown. The message names the cause in our own words. Texts of the
 * server are quoted and cut.
 */
export function explainRemote(error: unknown, who: string): DomainError | AuthorizationNeeded {
  const known = causesOf(error).find(
    (cause) => cause instanceof DomainError || cause instanceof AuthorizationNeeded || cause instanceof OutboundError,
  );
  if (known instanceof OutboundError) {
    // What our rules refuse is no failure of others.
    const what = known.isTemporary ? 'failed' : 'is not used';
    return new RemoteFailedError(`${who} ${what}: ${known.message}`, error, { reason: 'UPSTREAM_UNREACHABLE' });
  }
  if (known instanceof DomainError || known instanceof AuthorizationNeeded) return known;
  return new RemoteFailedError(`${who} ${causeOf(error)}`, error);
}

function causeOf(error: unknown): string {
  // The issuer of an authorization response comes from the URL that was opened.
  if (error instanceof mcpClient().IssuerMismatchError)
    return 'names another issuer than expected (RFC 9207, section 2.4)';
  if (error instanceof mcpClient().InsecureTokenEndpointError) return 'names a token endpoint that is not https';
  if (error instanceof mcpClient().SdkHttpError && error.status !== undefined)
    return `answered with HTTP ${error.status}`;
  if (error instanceof mcpClient().ProtocolError)
    return `answered with the JSON-RPC error ${error.code}${error.message === '' ? '' : `: ${shown(error.message)}`}`;
  if (error instanceof z.core.$ZodError) return `answered with a malformed document${fieldIn(error)}`;
  if (error instanceof SyntaxError) return 'answered with malformed JSON';
  if (error instanceof mcpClient().SdkError && error.cause instanceof Error) return causeOf(error.cause);
  if (error instanceof mcpClient().SdkError) return `broke the protocol (${error.code})`;
  return 'broke the protocol';
}

/** The first wrong field of a document. */
export function fieldIn(error: z.core.$ZodError): string {
  const [issue] = error.issues;
  const path = issue?.path.map(String).join('.') ?? '';
  return issue === undefined || path === ''
    ? ''
    : ` (${shown(path).slice(1, -1)}: ${shown(issue.message).slice(1, -1)})`;
}

/** Shorter texts are no secrets, and replacing them would make a message unreadable. */
const MIN_SECRET = 6;
const HIDDEN = '[hidden]';

/** Replaces credentials in the text of a server, which can repeat what was sent to it. No message shows one. */
export const hideSecrets = (text: string, secrets: readonly (string | undefined)[]): string =>
  secrets.reduce<string>(
    (hidden, secret = '') => (secret.length < MIN_SECRET ? hidden : hidden.replaceAll(secret, HIDDEN)),
    text,
  );
