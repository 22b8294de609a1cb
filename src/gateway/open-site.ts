import type { ApiKeyId } from '../core/ids.ts';
import { isWellFormedApiKey } from '../domains/api-keys/public.ts';
import type { KnownKey } from './admission/api-key-lookup.ts';
import { canAct } from './admission/authenticate.ts';
import type { Dependencies } from './dependencies.ts';
import { type Site, createSite } from './pages/site.ts';
import { contracts } from './print-contracts.ts';

/** Creates the pages of a gateway. Visitors are identified by the sign-in cookie. */
export function openSite(dependencies: Dependencies): Site {
  const { browserSessions: sessions, signInLinks: links, keys } = dependencies;
  const usable = (known: KnownKey | undefined) => (known && canAct(known) ? known : undefined);
  const findKeyById = async (keyId: ApiKeyId) => usable(await keys.byId(keyId));
  return createSite({
    sessions,
    links,
    printSchema: contracts['schema.graphql'],
    findKey: async (key) => (isWellFormedApiKey(key) ? usable(await keys.byKey(key)) : undefined),
    findKeyById,
    visitorOf: async (headers) => {
      const keyId = await sessions.keyIdOf(headers);
      return keyId === undefined ? undefined : findKeyById(keyId);
    },
  });
}
