import { keyCommand } from '../core/config.ts';
import { isWellFormedApiKey } from '../domains/api-keys/public.ts';
import type { KnownKey } from './admission/api-key-lookup.ts';
import { RefusedKeyError, canAct } from './admission/authenticate.ts';
import type { RateLimits } from './admission/rate-limits.ts';
import type { Dependencies } from './dependencies.ts';
import type { Visit } from './pages/sign-in.ts';
import { type Site, createSite } from './pages/site.ts';
import { contracts } from './print-contracts.ts';

/** Creates the pages of a gateway. Visitors are identified by the sign-in cookie. */
export function openSite(dependencies: Dependencies, limits: RateLimits | undefined): Site {
  const { browserSessions: sessions, signInLinks: links, keys } = dependencies;
  return createSite({
    sessions,
    links,
    printSchema: contracts['schema.graphql'],
    findKey: async (key, visit) => (isWellFormedApiKey(key) ? usable(await keys.byKey(key), visit) : undefined),
    findKeyById: async (keyId, visit) => usable(await keys.byId(keyId), visit),
    visitorOf: async (headers) => {
      const known = await sessions.find(headers);
      return known && canAct(known) ? known : undefined;
    },
    keyCommand: keyCommand(dependencies.config),
    countSignIn: async (sender) => limits?.countRequest(sender),
  });
}

function usable(known: KnownKey | undefined, { onRefusal }: Visit): KnownKey | undefined {
  if (known && canAct(known)) return known;
  onRefusal(new RefusedKeyError(known), 'signIn');
  return undefined;
}
