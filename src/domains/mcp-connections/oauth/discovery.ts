import {
  type AuthorizationServerMetadata,
  LATEST_PROTOCOL_VERSION,
  buildDiscoveryUrls,
  checkResourceAllowed,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { RemoteFailedError } from '../../../core/errors.ts';
import { isObject } from '../../../core/is-object.ts';
import { parsedJson, withinStack } from '../../../core/outbound/changed-answers.ts';
import { OutboundError, type OutboundWork } from '../../../core/outbound/outbound.ts';
import { mediaTypeOf, shown, statusOf } from '../remote/answers.ts';
import { explainRemote, fieldIn } from '../remote/errors.ts';
import { membersWithoutNulls } from '../without-nulls.ts';
import { type AuthorizationServer, isSameIssuer } from './authorization-server.ts';

/**
 * Finds the authorization server of an MCP server: its resource metadata (RFC 9728), then the metadata of the authorization server (RFC 8414,
 * OpenID Connect Discovery). Every place of the specifications is tried, whatever another place answers. The functions of the official client
 * package end at the first odd answer.
 */

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const text = z.string();
/** A list of texts. Some servers write a single text, or texts that are separated by spaces. */
const texts = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(' ').filter(Boolean) : value),
  z.array(z.string()),
);

const resourceSchema = z.object({
  resource: text.optional(),
  authorization_servers: texts.optional().catch(undefined),
  scopes_supported: texts.optional().catch(undefined),
});

const metadataSchema = z.object({
  issuer: text,
  /** Missing at servers that issue tokens only to clients. */
  authorization_endpoint: httpUrl.optional(),
  token_endpoint: httpUrl,
  registration_endpoint: httpUrl.optional(),
  revocation_endpoint: httpUrl.optional(),
  /** The code flow is the only one that is used. */
  response_types_supported: texts.catch(['code']),
  scopes_supported: texts.optional().catch(undefined),
  token_endpoint_auth_methods_supported: texts.optional().catch(undefined),
  code_challenge_methods_supported: texts.optional().catch(undefined),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
  client_id_metadata_document_supported: z.boolean().optional().catch(undefined),
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
}

/** The resource metadata of a server that it uses. */
export interface Resource {
  readonly resource: string;
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
  return search.findServer(found ?? resourceWithoutMetadata(serverUrl, options), options);
}

/** The authorization server of a server that works without authorization; undefined if it publishes no metadata about one. */
export async function discoverIfPublished(
  work: OutboundWork,
  serverUrl: string,
  options: DiscoveryOptions & { readonly hasClient: boolean },
): Promise<AuthorizationServer | undefined> {
  const search = new Search(work);
  const found = await search.findResource(serverUrl, options);
  if (found) return search.findServer(found, options);
  if (!options.hasClient) return undefined;
  return search.findServer(resourceWithoutMetadata(serverUrl, options), options).catch(() => undefined);
}

/** The revision 2025-03-26 has no resource metadata: the origin of the server is the issuer. */
function resourceWithoutMetadata(serverUrl: string, { resource }: DiscoveryOptions): Resource {
  return {
    resource: resource ?? resourceUrlFromServerUrl(serverUrl).href,
    issuers: [new URL('/', serverUrl).href],
    scopesSupported: null,
  };
}

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
    const own = resourceUrlFromServerUrl(serverUrl);
    for (const url of resourceMetadataUrls(serverUrl, options.resourceMetadataUrl)) {
      const document = await this.#read(url, resourceSchema);
      if (!document) continue;
      const resource = document.resource ?? own.href;
      if (resource !== options.resource && !isResourceOf(own, resource)) {
        this.mismatch ??= `the MCP server publishes the metadata of another resource: ${shown(resource)} instead of ${shown(own.href)} (RFC 9728, section 3.3); enter the address that it names, if it is the same server`;
        continue;
      }
      const issuers = document.authorization_servers ?? [];
      return {
        resource: options.resource ?? resource,
        issuers: issuers.length > 0 ? issuers : [new URL('/', serverUrl).href],
        scopesSupported: document.scopes_supported?.join(' ') || null,
      };
    }
    return undefined;
  }

  async findServer(
    { resource, issuers, scopesSupported }: Resource,
    { knownIssuer }: DiscoveryOptions,
  ): Promise<AuthorizationServer> {
    const isKnown = (issuer: string) => knownIssuer !== undefined && isSameIssuer(issuer, knownIssuer);
    for (const url of issuers.toSorted((a, b) => Number(isKnown(b)) - Number(isKnown(a))).slice(0, MAX_SERVERS)) {
      const metadata = await this.#readMetadata(url);
      if (metadata) return { url, issuer: metadata.issuer, metadata, resource, scopesSupported };
    }
    throw new RemoteFailedError(this.mismatch ?? this.#explain());
  }

  async #readMetadata(issuer: string): Promise<AuthorizationServerMetadata | undefined> {
    if (!httpUrl.safeParse(issuer).success) {
      this.#problems.add(`${shown(issuer)} is not an http or https URL`);
      return undefined;
    }
    for (const { url } of buildDiscoveryUrls(issuer)) {
      const metadata = await this.#read(url, metadataSchema);
      if (!metadata) continue;
      // The package requires an authorization endpoint in its type; it is checked where it is used.
      if (isSameIssuer(metadata.issuer, issuer)) return metadata as AuthorizationServerMetadata;
      this.mismatch ??= `discovery of the authorization server names another issuer than expected: ${shown(metadata.issuer)} instead of ${shown(issuer)} (RFC 8414, section 3.3)`;
    }
    return undefined;
  }

  /** The document at this place; undefined if there is none that can be used. */
  async #read<Schema extends z.ZodType>(url: URL, schema: Schema): Promise<z.output<Schema> | undefined> {
    const address = url.host + url.pathname;
    try {
      const response = await this.#work.fetch(url, {
        headers: { Accept: 'application/json', 'MCP-Protocol-Version': LATEST_PROTOCOL_VERSION },
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
      const parsed = schema.safeParse(withinStack(url.host, () => membersWithoutNulls(document)));
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

/** Where resource metadata can be (RFC 9728, sections 3.1 and 5.1). */
function resourceMetadataUrls(serverUrl: string, challenged: URL | undefined): URL[] {
  const { origin, pathname, search } = new URL(serverUrl);
  const wellKnown = '/.well-known/oauth-protected-resource';
  const path = pathname.replace(/\/$/, '');
  const urls = [challenged?.href, `${origin}${wellKnown}${path}${search}`, origin + wellKnown];
  return [...new Set(urls.filter((url) => url !== undefined))].map((url) => new URL(url));
}

function isResourceOf(own: URL, resource: string): boolean {
  return URL.canParse(resource) && checkResourceAllowed({ requestedResource: own, configuredResource: resource });
}
