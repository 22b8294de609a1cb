import { keyCommand } from '../core/config.ts';
import { causesOf, notFound } from '../core/errors.ts';
import { isWellFormedApiKey } from '../domains/api-keys/public.ts';
import { RefusedKeyError, canAct } from './admission/authenticate.ts';
import type { ClientLimits } from './admission/client-limits.ts';
import { CompanySignIn, LostAttemptError } from './company-sign-in.ts';
import type { Dependencies } from './dependencies.ts';
import { OidcError } from './oidc-client.ts';
import { type Site, createSite } from './pages/site.ts';
import { contracts } from './print-contracts.ts';

const reasonOf = (error: OidcError) =>
  [...causesOf(error)].map(({ message }) => message.replaceAll(/\s+/g, ' ').slice(0, 300)).join(': ');

/** Creates the pages of a gateway. Visitors are identified by the sign-in cookie. */
export function openSite(dependencies: Dependencies, clientLimits: ClientLimits): Site {
  const { browserSessions: sessions, keys } = dependencies;
  const company = new CompanySignIn(dependencies);
  return createSite({
    sessions,
    printSchema: contracts['schema.graphql'],
    findKey: async (key, { onRefusal }) => {
      const known = isWellFormedApiKey(key) ? await keys.byKey(key) : undefined;
      if (known && canAct(known)) return known;
      const refused = new RefusedKeyError(known);
      onRefusal(refused, 'signIn');
      return refused;
    },
    visitorOf: async (headers) => {
      const known = await sessions.find(headers);
      return known && canAct(known) ? known : undefined;
    },
    keyCommand: keyCommand(dependencies.config),
    keysSignIn: !dependencies.config.OIDC_ONLY,
    redeemLink: (token, visit) => company.redeem(token, visit.request.headers, visit),
    oidc: {
      name: company.settings?.name,
      begin: (next, { request }) => company.begin(request.headers, next),
      attemptOf: async ({ request, url: { searchParams: answer } }) => {
        const attempt = await company.attemptOf(request.headers, answer);
        return {
          ended: company.endAttempt(attempt),
          complete: (visit) => company.complete(attempt, answer, visit),
        };
      },
      endOf: async (id, { requestId }) => {
        try {
          return await company.endOf(id);
        } catch (error) {
          dependencies.log.warn({ err: error, requestId }, 'the session at the identity provider was not ended');
          return undefined;
        }
      },
      logOut: (token, visit) => company.logOut(token, visit),
      countAttempt: (kind, { clientAddress }) => {
        if (!company.settings) throw notFound('identity provider');
        const excess = clientLimits.count(kind, clientAddress);
        if (excess) throw excess;
      },
      failureOf: (error, { requestId }) => {
        if (error instanceof LostAttemptError) return 'lost';
        if (!(error instanceof OidcError)) return undefined;
        // The stack says where the package has refused the answer, which is of use only if the answer is odd.
        const reason = error.failure === 'untrusted' ? { err: error } : { reason: reasonOf(error) };
        dependencies.log.warn(
          { ...reason, requestId, failure: error.failure },
          'a sign-in with the identity provider failed',
        );
        return error.failure;
      },
    },
  });
}
