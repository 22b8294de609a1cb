/** The `WWW-Authenticate` header (RFC 9110, section 11.6.1), as servers write it. */

export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
  readonly error?: string | undefined;
}

const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const PARAMETER = /\s*=\s*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|'(?<single>[^']*)'|(?<plain>[^\s,;"]+))/y;
const SEPARATOR = /[\s,;]*/y;

/**
 * Reads the challenge of the scheme Bearer. An address can be relative to the server. The header can have challenges of several schemes. If none is Bearer, the parameters of all of
 * them count, because only servers that support OAuth name resource metadata.
 */
export function readChallenge(header: string | null, serverUrl: string): Challenge {
  const challenges = challengesIn(header ?? '');
  const bearer = challenges.filter(({ scheme }) => scheme === 'bearer');
  const chosen = (bearer.length > 0 ? bearer : challenges).map(({ parameters }) => parameters);
  const valueOf = (name: string) => chosen.map((parameters) => parameters.get(name)).find(Boolean);
  const url = valueOf('resource_metadata');
  const base = url?.startsWith('/') ? serverUrl : undefined;
  return {
    resourceMetadataUrl: url !== undefined && URL.canParse(url, base) ? new URL(url, base) : undefined,
    scope: valueOf('scope'),
    error: valueOf('error'),
  };
}

interface NamedChallenge {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

function challengesIn(header: string): NamedChallenge[] {
  const challenges: NamedChallenge[] = [];
  for (let at = endOf(SEPARATOR, header, 0); at < header.length; at = endOf(SEPARATOR, header, at)) {
    const end = endOf(TOKEN, header, at);
    const name = header.slice(at, end).toLowerCase();
    PARAMETER.lastIndex = end;
    const value = name === '' ? null : PARAMETER.exec(header);
    const { quoted, single, plain } = value?.groups ?? {};
    // A header that names no scheme.
    if (value && challenges.length === 0) challenges.push({ scheme: '', parameters: new Map() });
    if (value) challenges.at(-1)?.parameters.set(name, quoted?.replaceAll(/\\(.)/g, '$1') ?? single ?? plain ?? '');
    else if (name !== '') challenges.push({ scheme: name, parameters: new Map() });
    // A character that cannot begin anything is skipped.
    at = value ? PARAMETER.lastIndex : Math.max(end, at + 1);
  }
  return challenges;
}

/** Where the match of a sticky expression at this position ends; the position itself if there is none. */
function endOf(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}
