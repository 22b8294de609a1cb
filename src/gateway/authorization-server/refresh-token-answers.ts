import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** The stored answer to a refresh token. Its key is derived from the token, so that nobody without the token can read it. */

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

const keyOf = (token: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', token, '', 'answer to a refresh token', 32));

export function sealAnswer(answer: string, token: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(token), iv);
  const sealed = [iv, cipher.update(answer, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64url');
}

export function openAnswer(sealed: string, token: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, keyOf(token), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}
