import type { IncomingMessage } from 'node:http';
import { type JWTPayload, SignJWT, exportJWK, generateKeyPair } from 'jose';
import { type Peer, startPeer } from './mcp-server.ts';

interface Answer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An issuer whose tokens a test forges. Its page of authorization is never opened: the test calls the callback itself. */
export interface ForgingIssuer {
  readonly peer: Peer;
  readonly issuer: string;
  readonly env: Readonly<Record<string, string>>;
  /** Replaces properties of the metadata; undefined removes one. */
  metadata: Record<string, unknown>;
  /** Makes the ID token. The code of an attempt is its nonce. */
  tokenFor: (claims: JWTPayload) => Promise<string>;
  /** Changes of the claims of the next ID token. */
  claims: JWTPayload;
  /** What the userinfo endpoint answers; undefined, without one. */
  userinfo: object | undefined;
  /** What the token endpoint answers instead of tokens. */
  refusal: Answer | undefined;
  /** Signs with the published key, or with another one. */
  sign(claims: JWTPayload, options?: { readonly isForeign?: boolean }): Promise<string>;
  /** Signs with another key from now on, and publishes only that. */
  replaceKey(alg: string, kid: string): Promise<void>;
  readonly tokenRequests: URLSearchParams[];
  /** The header `Authorization` of the latest token request. */
  authorization: string | undefined;
  beforeAnswer: () => Promise<void>;
  stop(): Promise<void>;
}

export async function startForgingIssuer(): Promise<ForgingIssuer> {
  const foreign = await generateKeyPair('RS256');
  const newKey = async (alg: string, kid: string) => {
    const { publicKey, privateKey } = await generateKeyPair(alg);
    return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
  };
  let own = await newKey('RS256', 'one');
  const peer = await startPeer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void answer(request, Buffer.concat(chunks).toString()).then(({ status, body, headers }) =>
        response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body)),
      );
    });
  });
  async function answer({ url, headers }: IncomingMessage, body: string): Promise<Answer> {
    await forging.beforeAnswer();
    if (url === '/.well-known/openid-configuration') return { status: 200, body: metadata() };
    if (url === '/jwks') return { status: 200, body: { keys: [own.jwk] } };
    if (url === '/userinfo' && forging.userinfo) return { status: 200, body: forging.userinfo };
    if (url !== '/token') return { status: 404, body: {} };
    const request = new URLSearchParams(body);
    forging.tokenRequests.push(request);
    forging.authorization = headers.authorization;
    if (forging.refusal) return forging.refusal;
    const at = Math.floor(Date.now() / 1000);
    const claims = {
      iss: peer.origin,
      aud: 'gateway',
      sub: 'one',
      iat: at,
      exp: at + 300,
      nonce: request.get('code'),
      ...forging.claims,
    };
    const idToken = await forging.tokenFor(claims);
    return { status: 200, body: { access_token: 'access', token_type: 'Bearer', id_token: idToken } };
  }
  const metadata = () => ({
    issuer: peer.origin,
    authorization_endpoint: `${peer.origin}/authorize`,
    token_endpoint: `${peer.origin}/token`,
    jwks_uri: `${peer.origin}/jwks`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    id_token_signing_alg_values_supported: [own.alg],
    authorization_response_iss_parameter_supported: true,
    ...(forging.userinfo && { userinfo_endpoint: `${peer.origin}/userinfo` }),
    ...forging.metadata,
  });
  const forging: ForgingIssuer = {
    peer,
    issuer: peer.origin,
    env: {
      ALLOW_PRIVATE_NETWORK: 'true',
      OIDC_ISSUER: peer.origin,
      OIDC_CLIENT_ID: 'gateway',
      OIDC_CLIENT_SECRET: 'secret',
      OIDC_DOMAINS: 'example.com,Partner.example',
      PUBLIC_URL: 'http://gateway.example',
    },
    metadata: {},
    claims: {},
    userinfo: undefined,
    refusal: undefined,
    tokenFor: (claims) => forging.sign(claims),
    sign: (claims, { isForeign = false } = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: own.alg, kid: own.kid })
        .sign(isForeign ? foreign.privateKey : own.privateKey),
    replaceKey: async (alg, kid) => void (own = await newKey(alg, kid)),
    tokenRequests: [],
    authorization: undefined,
    beforeAnswer: async () => {},
    stop: () => peer.stop(),
  };
  return forging;
}
