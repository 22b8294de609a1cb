import { causesOf } from '../errors.ts';

/** Why an exchange failed, without any text from the peer. */
export function failureOf(error: unknown, host: string): string {
  const causes = causesOf(error);
  const code = causes.map(codeOf).find((each) => each !== undefined);
  const shown = code === undefined ? '' : ` (${code})`;
  const isNotHttp = causes.some(({ name }) => name === 'HTTPParserError');
  const known = REASONS.find(([pattern]) => pattern.test(code ?? ''));
  if (known) return known[1](host) + shown;
  if (isNotHttp) return `the answer of ${host} is not HTTP${shown}`;
  return code === undefined ? `the exchange with ${host} failed` : `${host} cannot be reached${shown}`;
}

const CLOSED = (host: string) => `${host} closed the connection before the end of its answer`;
const UNKNOWN_AUTHORITY = (host: string) =>
  `the certificate of ${host} is not from a known authority; the operator of the gateway can add one with NODE_EXTRA_CA_CERTS`;

/** What codes of Node.js, OpenSSL and undici mean. Others mean that no connection was established. */
const REASONS: readonly (readonly [RegExp, (host: string) => string])[] = [
  [/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE|HPE_INVALID_EOF_STATE)$/, CLOSED],
  [
    /^(?:HPE_HEADER_OVERFLOW|UND_ERR_HEADERS_OVERFLOW)$/,
    (host) => `the headers of the answer of ${host} are too large`,
  ],
  [
    /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED)$/,
    UNKNOWN_AUTHORITY,
  ],
  [/^CERT_HAS_EXPIRED$/, (host) => `the certificate of ${host} has expired`],
  [/^CERT_NOT_YET_VALID$/, (host) => `the certificate of ${host} is not valid yet`],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, (host) => `the certificate of ${host} is for another name`],
  [/^(?:ERR_SSL_\w+|EPROTO)$/, (host) => `no TLS connection to ${host} can be established`],
  [/^Z_\w+$/, (host) => `the answer of ${host} cannot be decompressed`],
];

function codeOf(cause: Error): string | undefined {
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return /^[A-Z0-9_]{1,60}$/.test(code) ? code : undefined;
}
