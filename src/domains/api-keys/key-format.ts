import * as crypto from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'wgk_';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
// The largest multiple of 62 in a byte: what lies above is drawn again, else the first 8 characters would come up more often.
const UNBIASED = 256 - (256 % ALPHABET.length);

const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * Creates a key: `wgk_`, 30 random base62 characters (178 bits), and 6 that are the CRC-32 of all before them.
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
 * Whether it could be a key, without a query. Refuses every key with one character mistyped or two neighbours
 * swapped, and all but one in 62^6 of other texts of this form. It proves nothing: anybody can compute a checksum.
 */
export function isWellFormedApiKey(candidate: string): boolean {
  return FORM.test(candidate) && candidate.endsWith(checksum(candidate.slice(0, -CHECKSUM_LENGTH)));
}

/** The SHA-256 of a key, 32 bytes: what is stored and looked up. A key has too much entropy to need salt or stretching. */
export function hashApiKey(key: string): Buffer {
  return crypto.createHash('sha256').update(key).digest();
}

/** What may be shown of a key later: `wgk_ab12…yz`, its first 4 and last 2 characters. At least 142 bits stay hidden. */
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
