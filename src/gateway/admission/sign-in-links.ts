import { createHash, randomBytes } from 'node:crypto';
import type { ApiKeyId } from '../../core/ids.ts';

export const LINK_MINUTES = 10;

/**
 * One-time links that sign a browser in, such as the link that the first start prints. They are stored in memory, so a
 * restart invalidates them.
 */
export interface SignInLinks {
  /** Creates the token of a link, which signs in with a key once within 10 minutes. */
  create(keyId: ApiKeyId): string;
  /** The id of the key of a token; undefined when the token is unknown, used or expired. */
  redeem(token: string): string | undefined;
}

export function createSignInLinks({ now }: { readonly now: () => Date }): SignInLinks {
  const links = new Map<string, { readonly keyId: ApiKeyId; readonly expiresAt: number }>();
  return {
    create(keyId) {
      const token = randomBytes(32).toString('base64url');
      links.set(hashOf(token), { keyId, expiresAt: now().getTime() + LINK_MINUTES * 60_000 });
      return token;
    },
    redeem(token) {
      const hash = hashOf(token);
      const link = links.get(hash);
      links.delete(hash);
      return link && link.expiresAt > now().getTime() ? link.keyId : undefined;
    },
  };
}

/** Tokens are looked up by hash, so that the time does not reveal how much of a guess is correct. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
