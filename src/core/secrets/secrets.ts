import { createSecretKey, hkdfSync, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { compactDecrypt, CompactEncrypt, decodeProtectedHeader, type DecryptOptions } from 'jose';

const KEY_BYTES = 32;
// Shorter than 32 bytes in base64, so that key material in the wrong position never passes for an id and is never shown.
const KEY_ID = /^[A-Za-z0-9._-]{1,32}$/;

const ALG = 'A256GCMKW';
const ENC = 'A256GCM';
/** Accepts only what `seal` writes: no other algorithm, no compression, no extension. */
const ACCEPTED: DecryptOptions = {
  keyManagementAlgorithms: [ALG],
  contentEncryptionAlgorithms: [ENC],
  maxDecompressedLength: 0,
};

/** The place of a secret. It is authenticated but not hidden: all three parts are readable in the encrypted value. */
export interface SecretPlace {
  readonly table: string;
  readonly row: string;
  readonly field: string;
}

/** An encryption key. `util.inspect` and `JSON.stringify` do not show its bytes. */
export interface EncryptionKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** A secret could not be decrypted. The message names its place and, if that is the cause, the id of the missing key. */
export class SecretError extends Error {
  override readonly name = 'SecretError';

  constructor({ table, row, field }: SecretPlace, reason: string) {
    super(`Secret ${table}/${row}/${field} ${reason}`);
  }
}

/**
 * Encrypts secrets for storage, as JWE in compact serialization (RFC 7516) with A256GCMKW and A256GCM (RFC 7518,
 * sections 4.7 and 5.3): each has its own content key, wrapped by an encryption key. Errors contain neither plaintext
 * nor key bytes.
 */
export interface SecretBox {
  /** The id of the key that `seal` uses. */
  readonly currentKeyId: string;
  /** The ids of all keys that `open` knows. */
  readonly keyIds: readonly string[];
  /**
   * Encrypts under the current key; two seals of one text differ. The initialization vectors are random, so one key
   * should be rotated before 2^32 seals (NIST SP 800-38D, section 8.3).
   * @throws TypeError for a text with a lone surrogate, which UTF-8 would silently replace.
   */
  seal(plaintext: string, place: SecretPlace): Promise<string>;
  /**
   * Returns exactly what was sealed for this place, under any of the keys.
   * @throws SecretError when the key is unknown, the place is another, or any part was altered.
   */
  open(sealed: string, place: SecretPlace): Promise<string>;
  /** A secret of 32 bytes for one purpose, which is the same in every process with the same current key. */
  derive(purpose: string): Uint8Array;
  /** Whether it is not encrypted under the current key. Reads the header without authentication and never throws. */
  isStale(sealed: string): boolean;
}

/** Creates a box whose first key encrypts and whose keys all decrypt. */
export function createSecretBox(keys: readonly EncryptionKey[]): SecretBox {
  const [current] = keys;
  if (!current) throw new Error('at least one encryption key is needed');
  const keysById = new Map(keys.map(({ id, key }) => [id, key]));

  return {
    currentKeyId: current.id,
    keyIds: [...keysById.keys()],

    async seal(plaintext, { table, row, field }) {
      if (!plaintext.isWellFormed()) throw new TypeError('a secret must not contain a lone surrogate');
      return new CompactEncrypt(Buffer.from(plaintext))
        .setProtectedHeader({ alg: ALG, enc: ENC, kid: current.id, table, row, field })
        .encrypt(current.key);
    },

    open: (sealed, place) => openSealed(sealed, place, keysById),

    derive: (purpose) => new Uint8Array(hkdfSync('sha256', current.key, '', purpose, KEY_BYTES)),

    isStale(sealed) {
      try {
        return decodeProtectedHeader(sealed).kid !== current.id;
      } catch {
        return true;
      }
    },
  };
}

async function openSealed(
  sealed: string,
  place: SecretPlace,
  keysById: ReadonlyMap<string, KeyObject>,
): Promise<string> {
  // No cause, because its message may quote the input, which can be a secret in plaintext.
  const altered = () => new SecretError(place, 'was altered, or never sealed');
  if (!isCanonical(sealed)) throw altered();
  const findKey = ({ kid }: { readonly kid?: string }) => {
    const key = keysById.get(kid ?? '');
    if (!key) throw unknownKey(kid, place);
    return key;
  };
  const { plaintext, protectedHeader: header } = await compactDecrypt(sealed, findKey, ACCEPTED).catch(
    (error: unknown) => {
      throw error instanceof SecretError ? error : altered();
    },
  );
  if (header.table !== place.table || header.row !== place.row || header.field !== place.field) {
    throw new SecretError(place, 'holds a value that was sealed for another place');
  }
  return Buffer.from(plaintext).toString();
}

function unknownKey(kid: string | undefined, place: SecretPlace): SecretError {
  // Not authenticated, so shown only if it could be the id of a key.
  const shown = kid !== undefined && KEY_ID.test(kid) ? `"${kid}"` : 'without a proper id';
  return new SecretError(place, `is sealed under a key ${shown}, which is not among the encryption keys`);
}

/** Decoders ignore spaces and the spare bits of a last character (RFC 4648, section 3.5); here they count as altered. */
const isCanonical = (sealed: string): boolean =>
  sealed.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);

/**
 * Reads `id:base64,id:base64`: at least one key, each of 32 bytes in padded base64 (RFC 4648, section 4), with distinct
 * ids of 1 to 32 letters, digits, `.`, `_` or `-`. Space around the whole text is ignored.
 * @throws Error with one line that names the entry by its position and never quotes it.
 */
export function parseEncryptionKeys(text: string): EncryptionKey[] {
  const ids = new Set<string>();
  return text
    .trim()
    .split(',')
    .map((entry, index) => {
      const fault = (reason: string) => new Error(`entry ${index + 1} ${reason}`);
      const [id = '', encoded, ...rest] = entry.split(':');
      if (encoded === undefined || rest.length > 0) throw fault('must have the form id:base64');
      if (!KEY_ID.test(id)) throw fault('must have an id of 1 to 32 letters, digits, ".", "_" or "-"');
      if (ids.has(id)) throw fault('repeats the id of another entry');
      ids.add(id);
      const bytes = Buffer.from(encoded, 'base64');
      if (bytes.toString('base64') !== encoded) throw fault('must have its key in padded base64');
      if (bytes.length !== KEY_BYTES) throw fault(`must have a key of ${KEY_BYTES} bytes, not ${bytes.length}`);
      return { id, key: createSecretKey(bytes) };
    });
}

/**
 * Reads the keys of a file in the format of `parseEncryptionKeys`; a missing file is first created with one new key,
 * readable by its owner alone, in a directory that must exist. The file survives a crash from the moment this returns,
 * and of concurrent callers all get the same keys.
 * @throws Error naming the file when it cannot be read or created, does not parse, or lets group or others in.
 */
export async function loadOrCreateKeyFile(path: string): Promise<EncryptionKey[]> {
  if (!existsSync(path)) await createKeyFile(path);
  // Also for an existing file, because its creator may have crashed before this.
  await using directory = await open(dirname(path));
  await directory.sync();

  await using file = await open(path);
  const { mode } = await file.stat();
  if ((mode & 0o077) !== 0) throw new Error(`key file ${path} must be closed to group and others (chmod 600)`);
  const text = await file.readFile('utf8');
  try {
    return parseEncryptionKeys(text);
  } catch (error) {
    throw new Error(`key file ${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function createKeyFile(path: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  // A random id distinguishes secrets of a lost key file from altered ones.
  const entry = `${randomBytes(4).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`;
  try {
    await writeFile(draft, `${entry}\n`, { mode: 0o600, flag: 'wx', flush: true });
    // Unlike a rename, a link never replaces the file of a faster process; unlike a write, it is never incomplete.
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
