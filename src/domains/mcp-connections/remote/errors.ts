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
 * Converts a failure of a request to `who` into an error that can be shown. The message names the cause in our own words. Of the server's text
 * it repeats only what an administrator needs: issuers, resources, and codes and descriptions of refused registrations.
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

const MAX_SHOWN = 200;

/** Text of a server in a message: one line of printable characters, in quotes and cut. Pages escape it. */
export function shown(text: string | undefined): string {
  if (text === undefined) return 'none';
  const printable = text.replaceAll(/[^\x20-\x7E]/g, '?');
  return `"${printable.length > MAX_SHOWN ? `${printable.slice(0, MAX_SHOWN)}…` : printable}"`;
}

const refusal = z.object({ error: z.string().regex(/^[a-z_]{1,60}$/), error_description: z.string().optional() });

/** The code and the description of a refusal (RFC 7591, section 3.2.2). */
function codeIn(body: string): string {
  try {
    const { error, error_description: description } = refusal.parse(JSON.parse(body));
    return description === undefined ? `, ${error}` : `, ${error}: ${shown(description)}`;
  } catch {
    return '';
  }
}

function causeOf(error: unknown): string {
  if (error instanceof IssuerMismatchError)
    // The issuer of an authorization response comes from the URL that was opened.
    return error.kind === 'metadata'
      ? `names another issuer than expected: ${shown(error.received)} instead of ${shown(error.expected)} (RFC 8414, section 3.3)`
      : 'names another issuer than expected (RFC 9207, section 2.4)';
  if (error instanceof InsecureTokenEndpointError) return 'names a token endpoint that is not https';
  if (error instanceof RegistrationRejectedError)
    return `refused the registration of this client (HTTP ${error.status}${codeIn(error.body)}); register a client there and give its clientId`;
  if (error instanceof OAuthError) return /^[a-z_]{1,60}$/.test(error.code) ? `refused: ${error.code}` : 'refused';
  if (error instanceof SdkHttpError && error.status !== undefined) return `answered with HTTP ${error.status}`;
  if (error instanceof ProtocolError) return `answered with the JSON-RPC error ${error.code}`;
  if (error instanceof SyntaxError || error instanceof z.core.$ZodError) return 'answered with a malformed document';
  if (error instanceof SdkError && error.cause instanceof Error) return causeOf(error.cause);
  if (error instanceof SdkError) return `broke the protocol (${error.code})`;
  return 'broke the protocol';
}
