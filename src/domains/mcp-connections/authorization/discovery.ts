import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { mcpClient } from '../../../core/mcp-packages.ts';
import { z } from 'zod';
import { RemoteFailedError } from '../../../core/errors.ts';
import { isObject } from '../../../core/is-object.ts';
import { parsedJson, withinStack } from '../../../core/outbound/changed-answers.ts';
import { OutboundError, type OutboundWork } from '../../../core/outbound/outbound.ts';
import { mediaTypeOf, shown, statusOf } from '../remote/answers.ts';
import { explainRemote, fieldIn } from '../remote/errors.ts';
import { membersWithoutNulls } from '../remote/tolerance.ts';
import { type AuthorizationServer, isSameIssuer } from './authorization-server.ts';

/**
 * Finds the authorization server of an MCP server: its resource metadata (RFC 9728), then the metadata of the authorization server (RFC 8414,
 * OpenID Connect Discovery). Every place of the specifications is tried, whatever another place answers. The functions of the official client
 * package end at the first odd answer.
 */

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const text = z.string();
/** A list of texts. Some servers write a single text, or texts that are separated by spaces. Other items are left out. */
const texts = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(' ') : value),
  z
    .array(z.unknown())
    .transform((items) => items.filter((item): item is string => typeof item === 'string' && item !== '')),
);
/** A flag. Some servers write it as text. */
const flag = z.preprocess((value) => (value === 'true' ? true : value), z.boolean().optional().catch(undefined));
/** What is not needed for every connection, and counts as absent if it is malformed. */
const optionalUrl = httpUrl.optional().catch(undefined);

const resourceSchema = z.object({
  resource: text.optional(),
  authorization_servers: texts.optional().catch(undefined),
  scopes_supported: texts.optional().catch(undefined),
});

const metadataSchema = z.object({
  issuer: text,
  /** Missing at servers that issue tokens only to clients. */
  authorization_endpoint: z.preprocess((value) => (value === '' ? undefined : value), httpUrl.optional()),
  token_endpoint: httpUrl,
  registration_endpoint: optionalUrl,
  revocation_endpoint: optionalUrl,
  response_types_supported: texts.catch(['code']),
  scopes_supported: texts.optional().catch(undefined),
  token_endpoint_auth_methods_supported: texts.optional().catch(undefined),
  code_challenge_methods_supported: texts.optional().catch(undefined),
  authorization_response_iss_parameter_supported: flag,
  client_id_metadata_document_supported: flag,
});

/** Maximum number of authorization servers of one resource that are tried. */
const MAX_SERVERS = 5;

export interface DiscoveryOptions {
  /** Where the challenge says that the resource metadata is. */
  readonly resourceMetadataUrl?: URL | undefined;
  /** The issuer of the stored tokens, which is preferred if there are several. */
  readonly knownIssuer?: string | undefined;
  /** The resource indicator that the owner has set. */
  readonly resource?: string | null | undefined;
  /** Whether the owner gave a client. */
  readonly hasClient: boolean;
}

/** The resource metadata of a server that it uses. */
export interface Resource {
  readonly resource: string;
  /** The authorization servers that it names. */
  readonly issuers: readonly string[];
  readonly scopesSupported: string | null;
}

/** @throws RemoteFailedError that names each place and what it answered. */
export async function discover(
  work: OutboundWork,
  serverUrl: string,
  options: DiscoveryOptions,
): Promise<AuthorizationServer> {
  const search = new Search(work);
  const found = await search.findResource(serverUrl, options);
  if (!found && search.mismatch !== undefined) throw new RemoteFailedError(search.mismatch);
  return search.findServer(serverUrl, found ?? resourceWithoutMetadata(serverUrl, options), options);
}

/** The authorization server of a server that works without authorization; undefined if it names none and there is none at its origin. */
export async function discoverIfPublished(
  work: OutboundWork,
  serverUrl: string,
  options: DiscoveryOptions,
): Promise<AuthorizationServer | undefined> {
  const search = new Search(work);
  const found = await search.findResource(serverUrl, options);
  if (found && found.issuers.length > 0) return search.findServer(serverUrl, found, options);
  if (!found && !options.hasClient) return undefined;
  const resource = found ?? resourceWithoutMetadata(serverUrl, options);
  return search.findServer(serverUrl, resource, options).catch(() => undefined);
}

const resourceWithoutMetadata = (serverUrl: string, { resource }: DiscoveryOptions): Resource => ({
  resource: resource ?? mcpClient().resourceUrlFromServerUrl(serverUrl).href,
  issuers: [],
  scopesSupported: null,
});

/** One discovery, with what each place has answered. */
class Search {
  readonly #work: OutboundWork;
  readonly #problems = new Set<string>();
  readonly #missing = new Set<string>();
  /** Metadata that belongs to another issuer or resource. */
  mismatch: string | undefined;

  constructor(work: OutboundWork) {
    this.#work = work;
  }

  async findResource(serverUrl: string, options: DiscoveryOptions): Promise<Resource | undefined> {
    const own = mcpClient().resourceUrlFromServerUrl(serverUrl);
    for (const url of resourceMetadataUrls(serverUrl, options.resourceMetadataUrl)) {
      const document = await this.#read(url, resourceSchema);
      if (!document) continue;
      const resource = document.resource ?? own.href;
      if (resource !== options.resource && !isResourceOf(own, resource)) {
        this.mismatch ??= `the MCP server publishes the metadata of another resource: ${shown(resource)} instead of ${shown(own.href)} (RFC 9728, section 3.3); enter the address that it names, if it is the same server`;
        continue;
      }
      return {
        resource: options.resource ?? resource,
        issuers: document.authorization_servers ?? [],
        scopesSupported: document.scopes_supported?.join(' ') || null,
      };
    }
    return undefined;
  }

  /** Without a named authorization server, the origin of the MCP server is the issuer, as in the revision 2025-03-26. */
  async findServer(
    serverUrl: string,
    { resource, issuers: named, scopesSupported }: Resource,
    { knownIssuer, hasClient }: DiscoveryOptions,
  ): Promise<AuthorizationServer> {
    const issuers = named.length > 0 ? named : [new URL('/', serverUrl).href];
    let first: AuthorizationServer | undefined;
    const isKnown = (issuer: string) => knownIssuer !== undefined && isSameIssuer(issuer, knownIssuer);
    for (const url of issuers.toSorted((a, b) => Number(isKnown(b)) - Number(isKnown(a))).slice(0, MAX_SERVERS)) {
      const metadata = await this.#readMetadata(url);
      if (!metadata) continue;
      const server = { url, issuer: metadata.issuer, metadata, resource, scopesSupported };
      if (hasClient || isKnown(url) || canBeUsed(metadata)) return server;
      // Another one may register the gateway.
      first ??= server;
    }
    if (first) return first;
    throw new RemoteFailedError(this.mismatch ?? this.#explain());
  }

  async #readMetadata(issuer: string): Promise<AuthorizationServerMetadata | undefined> {
    if (!httpUrl.safeParse(issuer).success) {
      this.#problems.add(`${shown(issuer)} is not an http or https URL`);
      return undefined;
    }
    for (const { url } of mcpClient().buildDiscoveryUrls(issuer)) {
      const metadata = await this.#read(url, metadataSchema);
      if (!metadata) continue;
      // The package requires an authorization endpoint in its type; it is checked where it is used.
      if (isSameIssuer(metadata.issuer, issuer)) return metadata as AuthorizationServerMetadata;
      this.mismatch ??= `discovery of the authorization server names another issuer than expected: ${shown(metadata.issuer)} instead of ${shown(issuer)} (RFC 8414, section 3.3); only the operator of the server can correct that`;
    }
    return undefined;
  }

  /** The document at this place; undefined if there is none that can be used. */
  async #read<Schema extends z.core.$ZodType>(url: URL, schema: Schema): Promise<z.output<Schema> | undefined> {
    const address = url.host + url.pathname;
    try {
      const response = await this.#work.fetch(url, {
        headers: { Accept: 'application/json', 'MCP-Protocol-Version': mcpClient().LATEST_PROTOCOL_VERSION },
      });
      const body = await response.text();
      if (!response.ok) {
        if (response.status === 404) this.#missing.add(address);
        else this.#problems.add(`${address} answered with ${statusOf(response)}`);
        return undefined;
      }
      const document = parsedJson(body);
      if (!isObject(document)) {
        this.#problems.add(
          `${address} answered with ${mediaTypeOf(response) ?? 'no media type'} instead of a JSON object`,
        );
        return undefined;
      }
      const parsed = z.safeParse(
        schema,
        withinStack(url.host, () => membersWithoutNulls(document)),
      );
      if (!parsed.success) this.#problems.add(`${address} answered with a malformed document${fieldIn(parsed.error)}`);
      return parsed.data;
    } catch (error) {
      if (this.#work.signal.aborted || !(error instanceof OutboundError))
        throw explainRemote(error, 'discovery of the authorization server');
      this.#problems.add(error.message);
      return undefined;
    }
  }

  #explain(): string {
    const needed = 'the MCP server requires authorization, but';
    return this.#problems.size > 0
      ? `${needed} discovery of the authorization server found no metadata that can be used: ${[...this.#problems].join('; ')}`
      : `${needed} its authorization server publishes no metadata (RFC 8414): ${[...this.#missing].join(', ')} answered with HTTP 404`;
  }
}

/** Whether the gateway can register itself, and PKCE is announced. */
function canBeUsed(metadata: AuthorizationServerMetadata): boolean {
  const registers = metadata.registration_endpoint ?? metadata.client_id_metadata_document_supported;
  return Boolean(registers) && metadata.code_challenge_methods_supported?.includes('S256') === true;
}

/** Where resource metadata can be (RFC 9728, sections 3.1 and 5.1). */
function resourceMetadataUrls(serverUrl: string, challenged: URL | undefined): URL[] {
  const { origin, pathname, search } = new URL(serverUrl);
  const wellKnown = '/.well-known/oauth-protected-resource';
  const path = pathname.replace(/\/$/, '');
  const urls = [challenged?.href, `${origin}${wellKnown}${path}${search}`, origin + wellKnown];
  return [...new Set(urls.filter((url) => url !== undefined))].map((url) => new URL(url));
}

const isResourceOf = (own: URL, resource: string): boolean =>
  URL.canParse(resource) && mcpClient().checkResourceAllowed({ requestedResource: own, configuredResource: resource });
