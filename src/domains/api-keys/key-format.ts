import * as crypto from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What a secret begins with: API keys, and the access and refresh tokens of grants. */
const PREFIXES = { key: 'wgk_', accessToken: 'wgo_', refreshToken: 'wgr_' } as const;
export type SecretKind = keyof typeof PREFIXES;
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// The largest multiple of 62 in a byte. Larger bytes are drawn again, because otherwise the first 8 characters would be more frequent.
const UNBIASED = 256 - (256 % ALPHABET.length);

const FORM = new RegExp(`^[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Creates a key: `wgk_`, 30 random base62 characters (178 bits), and the CRC-32 of both in 6 characters.
 * `randomBytes` must return `n` bytes of cryptographic quality.
 */
export const generateApiKey = (randomBytes?: (n: number) => Uint8Array): string => generateSecret('key', randomBytes);

/** Creates a key or a token. All have the form of {@link generateApiKey}. */
export function generateSecret(kind: SecretKind, randomBytes: (n: number) => Uint8Array = crypto.randomBytes): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    for (const byte of randomBytes(RANDOM_LENGTH - random.length)) {
      if (byte < UNBIASED) random += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  const body = PREFIXES[kind] + random;
  return body + checksum(body);
}

/**
 * Whether the text can be a key, decided without a query. The checksum detects every single wrong character and every swap of two adjacent
 * characters. It is not a proof of authenticity, because anybody can compute it.
 */
export const isWellFormedApiKey = (candidate: string): boolean => isWellFormedSecret('key', candidate);

/** The same for the other kinds. */
export function isWellFormedSecret(kind: SecretKind, candidate: string): boolean {
  const prefix = PREFIXES[kind];
  return (
    candidate.startsWith(prefix) &&
    FORM.test(candidate.slice(prefix.length)) &&
    candidate.endsWith(checksum(candidate.slice(0, -CHECKSUM_LENGTH)))
  );
}

/** SHA-256 of a key, 32 bytes, as it is stored and looked up. A random key needs no salt and no slow hash. */
export const hashApiKey = (key: string): Buffer => crypto.createHash('sha256').update(key).digest();

/** The part of a key that can be shown later: its first 4 and last 2 characters (`wgk_ab12…yz`). At least 142 bits stay hidden. */
export const previewApiKey = (key: string): string => `${key.slice(0, PREFIXES.key.length + 4)}…${key.slice(-2)}`;

/** CRC-32 in base62, most significant digit first, padded with `0`. */
function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); rest > 0; rest = Math.floor(rest / ALPHABET.length)) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
  }
  return digits.padStart(CHECKSUM_LENGTH, '0');
}
