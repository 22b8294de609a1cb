import type { PublicContext } from '../core/http/route.ts';
import { canAct } from './admission/authenticate.ts';
import { workContext } from './contexts.ts';
import type { Dependencies } from './dependencies.ts';
import type { Exchange } from './exchange.ts';

/** Creates the context of a request without a caller, for pages that need no API key. */
export function publicContext(
  dependencies: Dependencies,
  { request, requestId, requestIdOrigin }: Pick<Exchange, 'request' | 'requestId' | 'requestIdOrigin'>,
): PublicContext {
  return {
    ...workContext(dependencies),
    signal: request.signal,
    requestId,
    requestIdOrigin,
    async signedInUserId() {
      const known = await dependencies.browserSessions.find(request.headers);
      return known && canAct(known) ? known.userId : undefined;
    },
  };
}
