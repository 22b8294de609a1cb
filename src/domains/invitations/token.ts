import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'wgi_';
const RANDOM_BYTES = 32;

/** Creates a token of 256 random bits: `wgi_` and 43 characters of base64url. */
export function generateInvitationToken(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

/** The SHA-256 of a token: what is stored and looked up. A token has too much entropy to need salt or stretching. */
export function hashInvitationToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
