/**
 * Shapes of credentials. Each is linear: after its literal beginning it reads a bounded number of characters, or as many as it also matches,
 * so that no character is read again and again. The group `secret` is replaced; without one, the whole match, which is never a part of a
 * longer token, such as a line of Base64.
 */

/** No letter or digit before a token. */
const START = '(?<![0-9A-Za-z])';

/** Between a name and its value: `X-Api-Key: …`, `"x-api-key": "…"`, `api-key=…`, in JSON within JSON too. */
const QUOTES = String.raw`(?:\\{0,7}["']){0,3}`;
const IS = String.raw`${QUOTES}\s{0,8}(?::|=>?)\s{0,8}${QUOTES}`;
const AUTHORIZATION = `authorization${IS}`;
const SCHEMES = 'bearer|basic|token|api-?key|key|digest|negotiate|hmac|oauth';
/** `user:password` in an address. What ends a port is no password, and a variable or asterisks are none. */
const USER = String.raw`[^\s\/:@?#"'\`<>\\()[\]{}]{0,256}`;
const PASSWORD = String.raw`(?!\d{1,5}[?#,;&|]|\$[A-Z_]|\*+@)[^\s\/"'\`<>\\()[\]{}]{1,256}`;
const USER_INFO = String.raw`:(?:\\{0,7}\/){2}(?<secret>${USER}:${PASSWORD})(?=@)`;

export const SHAPES: readonly RegExp[] = [
  new RegExp(String.raw`${AUTHORIZATION}(?:${SCHEMES})\s{1,8}(?<secret>(?![$<{])[^\s"'\\,;]{8,})`, 'gi'),
  // Of other schemes, or without one, only what cannot be a word.
  new RegExp(
    String.raw`${AUTHORIZATION}(?:[a-z][0-9a-z-]{0,30}\s{1,8})?(?<secret>(?![$<{])(?=[^\s"'\\,;]{0,100}\d)[^\s"'\\,;]{16,})`,
    'gi',
  ),
  new RegExp(`(?:api-key|auth-token|private-token)${IS}(?<secret>[0-9A-Za-z_.+/=-]{16,})`, 'gi'),
  new RegExp(USER_INFO, 'gi'),
  ...[
    // Keys, tokens of grants, invitations and webhook secrets of this gateway.
    /wg[kor]_[0-9A-Za-z]{20,}/,
    /wgi_[0-9A-Za-z_-]{20,}/,
    /whsec_[0-9A-Za-z+/=_-]{20,}/,
    /(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])/,
    /AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/,
    /sk-(?:ant|proj|svcacct|admin|or)-[0-9A-Za-z_-]{20,}/,
    /gh[pousr]_(?:[0-9A-Za-z]{36,}|\w{36}(?!\w))/,
    /ghs_\d{1,20}_eyJ[\w.-]{20,}/,
    /github_pat_\w{40,}/,
    /xox[abeprs]-[0-9A-Za-z-]{10,}/,
    /figd_[\w-]{40,}/,
    /SG\.(?=[\w.-]{66})[\w-]{1,64}\.[\w-]{1,64}(?![\w-])/,
  ].map(({ source }) => new RegExp(START + source, 'g')),
];

/** Private keys, which can be longer than a part of a text that is searched at once. Without an end, the rest of the text is one. */
export const PRIVATE_KEY =
  /-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?=-----END|\0)|$)/g;

/**
 * How the shapes above and those of secretlint begin. A text without a match has no credential. It also matches the texts within a JSON
 * document, which need not be parsed before.
 */
export const MAY_HAVE_CREDENTIAL = new RegExp(
  [
    String.raw`wg[kior]_|whsec_|A(?:KI|SI)A[0-9A-Z]{16}|AIza|sk-(?:ant|proj|svcacct|admin|or)-|T3BlbkFJ|gh[pousr]_|github_pat_|xox[a-z]-|xapp-`,
    String.raw`-----BEGIN|SG\.|glpat-|glc_|glsa_|gsk_|hf_|lin_api_|ntn_|ops_ey|hv[sbr]\.|vc[iparck]_|dapi[0-9A-Fa-f]{8}|dckr_pat_|figd_`,
    String.raw`cf(?:k|ut|at)_|tskey-|shp(?:pa|ca|at|ss)_|[sr]k_(?:live|test)_|npm_\w{36}`,
    String.raw`(?i:secret_?access_?key|authorization|api-key|auth-token|private-token|hooks\.slack\.com|${USER_INFO})`,
  ].join('|'),
);
