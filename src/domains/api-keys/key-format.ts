import * as crypto from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'wgk_';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// The largest multiple of 62 in a byte. Larger bytes are drawn again, because otherwise the first 8 characters would be more frequent.
const UNBIASED = 256 - (256 % ALPHABET.length);

const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Creates a key: `wgk_`, 30 random base62 characters (178 bits), and the CRC-32 of both in 6 characters.
 * `randomBytes` must return `n` bytes of cryptographic quality.
 */
export function generateApiKey(randomBytes: (n: number) => Uint8Array = crypto.randomBytes): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    for (const byte of randomBytes(RANDOM_LENGTH - random.length)) {
      if (byte < UNBIASED) random += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  const body = PREFIX + random;
  return body + checksum(body);
}

/**
 * Whether the text can be a key, decided without a query. The checksum detects every single wrong character and every swap of two adjacent
 * characters. It is not a proof of authenticity, because anybody can compute it.
 */
export function isWellFormedApiKey(candidate: string): boolean {
  return FORM.test(candidate) && candidate.endsWith(checksum(candidate.slice(0, -CHECKSUM_LENGTH)));
}

/** SHA-256 of a key, 32 bytes, as it is stored and looked up. A random key needs no salt and no slow hash. */
export function hashApiKey(key: string): Buffer {
  return crypto.createHash('sha256').update(key).digest();
}

/** The part of a key that can be shown later: its first 4 and last 2 characters (`wgk_ab12…yz`). At least 142 bits stay hidden. */
export function previewApiKey(key: string): string {
  return `${key.slice(0, PREFIX.length + 4)}…${key.slice(-2)}`;
}

/** CRC-32 in base62, most significant digit first, padded with `0`. */
function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); rest > 0; rest = Math.floor(rest / ALPHABET.length)) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
  }
  return digits.padStart(CHECKSUM_LENGTH, '0');
}
