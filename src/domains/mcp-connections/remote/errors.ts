import {
  InsecureTokenEndpointError,
  InsufficientScopeError,
  IssuerMismatchError,
  OAuthError,
  ProtocolError,
  RegistrationRejectedError,
  SdkError,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { causesOf } from '../../../core/causes.ts';
import { DomainError, RemoteFailedError } from '../../../core/errors.ts';
import { OutboundError } from '../../../core/outbound/outbound.ts';

/** The server refuses the stored configuration. A retry does not help; the connection must be changed. */
export class MisconfiguredError extends RemoteFailedError {}

/** The server requires authorization, or more scopes (RFC 6750, section 3). */
export class AuthorizationNeeded extends Error {
  readonly resourceMetadataUrl: URL | undefined;
  /** The scope that the server requires. */
  readonly scope: string | undefined;
  /** Whether the token was valid, but lacks a scope. */
  readonly isStepUp: boolean;
  /** The version of the tokens that were sent; undefined when no stored tokens were used. */
  tokenVersion: number | undefined;

  constructor(challenge: { resourceMetadataUrl?: URL; scope?: string }, isStepUp = false) {
    super(isStepUp ? 'the server requires more scopes than were granted' : 'the server requires authorization');
    this.resourceMetadataUrl = challenge.resourceMetadataUrl;
    this.scope = challenge.scope;
    this.isStepUp = isStepUp;
  }
}

/**
 * Converts a failure of a request to `who` into an error that can be shown. The message names the cause in our own words and never repeats
 * text from the remote server, which can contain anything, even our secrets.
 */
export function explainRemote(error: unknown, who: string): DomainError | AuthorizationNeeded {
  if (error instanceof DomainError || error instanceof AuthorizationNeeded) return error;
  if (error instanceof InsufficientScopeError) {
    return new AuthorizationNeeded(
      { resourceMetadataUrl: error.resourceMetadataUrl, scope: error.requiredScope },
      true,
    );
  }
  const outbound = findOutboundError(error);
  if (outbound) return new RemoteFailedError(`${who} failed: ${outbound.message}`, error);
  // A 4xx answer: a retry of the same request does not help (RFC 9110, section 15.5).
  const isRefusal =
    error instanceof SdkHttpError &&
    error.status !== undefined &&
    error.status >= 400 &&
    error.status < 500 &&
    error.status !== 408 &&
    error.status !== 429;
  return new (isRefusal ? MisconfiguredError : RemoteFailedError)(`${who} ${causeOf(error)}`, error);
}

/** Finds the error in the chain of causes, because libraries wrap the errors of `fetch`. */
function findOutboundError(error: unknown): OutboundError | undefined {
  return causesOf(error).find((cause) => cause instanceof OutboundError);
}

function causeOf(error: unknown): string {
  if (error instanceof IssuerMismatchError)
    return 'names another issuer than expected (RFC 8414, section 3.3; RFC 9207, section 2.4)';
  if (error instanceof InsecureTokenEndpointError) return 'names a token endpoint that is not https';
  if (error instanceof RegistrationRejectedError)
    return `refused the registration of this client (HTTP ${error.status})`;
  if (error instanceof OAuthError) return /^[a-z_]{1,60}$/.test(error.code) ? `refused: ${error.code}` : 'refused';
  if (error instanceof SdkHttpError && error.status !== undefined) return `answered with HTTP ${error.status}`;
  if (error instanceof ProtocolError) return `answered with the JSON-RPC error ${error.code}`;
  if (error instanceof SyntaxError || error instanceof z.core.$ZodError) return 'answered with a malformed document';
  if (error instanceof SdkError && error.cause instanceof Error) return causeOf(error.cause);
  if (error instanceof SdkError) return `broke the protocol (${error.code})`;
  return 'broke the protocol';
}
