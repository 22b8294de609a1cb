import type { HttpRequest } from '../core/http/messages.ts';
import type { PublicContext } from '../core/http/route.ts';
import { canAct } from './admission/authenticate.ts';
import { type Dependencies, workContext } from './dependencies.ts';

/** The context of work without a caller: of pages that need no key. */
export function publicContext(dependencies: Dependencies, requestId: string, request: HttpRequest): PublicContext {
  const { browserSessions, keys } = dependencies;
  return {
    ...workContext(dependencies),
    signal: request.signal,
    requestId,
    async signedInUserId() {
      const keyId = await browserSessions.keyIdOf(request.headers);
      const known = keyId === undefined ? undefined : await keys.byId(keyId);
      return known && canAct(known) ? known.userId : undefined;
    },
  };
}
