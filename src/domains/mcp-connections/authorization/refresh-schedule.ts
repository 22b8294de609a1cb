import type { OAuthTokens } from '@modelcontextprotocol/client';

/** When the tokens of a connection are refreshed. */

/** Minimum time between two refreshes of a connection, whatever its server says. */
export const MIN_REFRESH_MS = 10_000;
const TEN_YEARS_MS = 10 * 365 * 86_400_000;

/** The lifetime of an access token; undefined when it is unknown. Some servers write 0 or null for a token that does not expire. */
function lifetimeOf({ expires_in: seconds = 0 }: OAuthTokens): number | undefined {
  if (!Number.isFinite(seconds) || seconds <= 0) return undefined;
  return Math.min(Math.max(seconds * 1000, MIN_REFRESH_MS), TEN_YEARS_MS);
}

/** When an access token expires and is refreshed; null when that is unknown. */
export function refreshTimes(tokens: OAuthTokens, now: Date) {
  const lifetimeMs = lifetimeOf(tokens);
  if (lifetimeMs === undefined) return { expiresAt: null, refreshAfter: null };
  const refreshMs = Math.max(lifetimeMs - refreshMarginMs(lifetimeMs), MIN_REFRESH_MS);
  return { expiresAt: new Date(now.getTime() + lifetimeMs), refreshAfter: new Date(now.getTime() + refreshMs) };
}

/** How long before expiry a token is refreshed: 1 to 2 minutes, less for short lifetimes. Random, to spread refreshes over time. */
function refreshMarginMs(lifetimeMs: number): number {
  const spread = 1 + Math.random();
  return Math.min(60_000 * spread, lifetimeMs * 0.2 * spread);
}
