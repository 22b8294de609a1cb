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
import { DomainError, RemoteFailedError } from '../../../core/errors.ts';
import { OutboundError } from '../../../core/outbound/outbound.ts';

/** What is stored does not fit what the server wants: trying again will not help, changing the connection will. */
export class MisconfiguredError extends RemoteFailedError {}

/** The server wants an authorization that it was not shown (RFC 6750, section 3). */
export class AuthorizationNeeded extends Error {
  readonly resourceMetadataUrl: URL | undefined;
  /** The scope that it asks for. */
  readonly scope: string | undefined;
  /** What was shown is valid but does not reach far enough. */
  readonly isStepUp: boolean;
  /** The version of the tokens that were shown, where a connection's own were. */
  tokenVersion: number | undefined;

  constructor(challenge: { resourceMetadataUrl?: URL; scope?: string }, isStepUp = false) {
    super(isStepUp ? 'the server asks for more scopes than were granted' : 'the server asks for authorization');
    this.resourceMetadataUrl = challenge.resourceMetadataUrl;
    this.scope = challenge.scope;
    this.isStepUp = isStepUp;
  }
}

/**
 * Makes anything that failed while talking to `who` an error that may be shown: it names the cause in our own words. What the peer wrote is
 * not repeated, since it can contain anything, our own secrets included.
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
  // The server has understood and does not want it so: asking again will not help (RFC 9110, section 15.5).
  const isRefusal =
    error instanceof SdkHttpError &&
    error.status !== undefined &&
    error.status >= 400 &&
    error.status < 500 &&
    error.status !== 408 &&
    error.status !== 429;
  return new (isRefusal ? MisconfiguredError : RemoteFailedError)(`${who} ${causeOf(error)}`, error);
}

/** Libraries wrap what `fetch` throws. */
function findOutboundError(error: unknown): OutboundError | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof OutboundError) return cause;
  }
  return undefined;
}

function causeOf(error: unknown): string {
  if (error instanceof IssuerMismatchError)
    return 'names another issuer than the one that was asked (RFC 8414, section 3.3; RFC 9207, section 2.4)';
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
