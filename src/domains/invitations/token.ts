import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'wgi_';
const RANDOM_BYTES = 32;

/** Creates a token of 256 random bits: `wgi_` and 43 characters of base64url. */
export function generateInvitationToken(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** SHA-256 of a token, as it is stored and looked up. A random token needs no salt and no slow hash. */
export function hashInvitationToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
