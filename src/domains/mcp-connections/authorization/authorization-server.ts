import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';

/** What is stored of an authorization server and of a client of it. */

/** `unencoded_basic` is for servers that do not decode HTTP Basic. It is only tried after the right form was refused. */
export const METHODS = ['client_secret_basic', 'unencoded_basic', 'client_secret_post', 'none'] as const;
export type ClientAuthenticationMethod = (typeof METHODS)[number];

/** The stored part of the metadata of an authorization server (RFC 8414) and of a resource (RFC 9728). */
export interface AuthorizationServer {
  readonly url: string;
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  /** The resource indicator (RFC 8707). Empty when none is sent. */
  readonly resource: string;
  /** Scopes to request when the owner gave none. */
  readonly scopesSupported: string | null;
  /** The parameter `audience` of requests, which some servers expect. */
  readonly audience?: string | null | undefined;
  /** How the client has authenticated, if the first choice was refused. */
  readonly clientAuthentication?: ClientAuthenticationMethod | undefined;
  /** Whether the server did not accept the client id metadata document, or tokens that were issued to it. */
  readonly refusesMetadataDocument?: boolean | undefined;
}

/** A client of one authorization server. Its credentials are never sent to another. */
export interface OAuthClient {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  /** Seconds since 1970; 0 or absent means never (RFC 7591, section 3.2.1). */
  readonly client_secret_expires_at?: number | undefined;
  readonly token_endpoint_auth_method?: string | undefined;
  /** The redirect URI of the registration; absent for a client that the owner registered. */
  readonly redirect_uri?: string | undefined;
}

/** Issuers are compared without a last slash, because both spellings have the same metadata. */
export const isSameIssuer = (one: string, other: string): boolean =>
  one.replace(/\/$/, '') === other.replace(/\/$/, '');
