import { suggestion } from './text/suggestion.ts';

/** Beginnings of names that only settings of the gateway have. */
const PREFIXES = ['DATABASE_', 'ENCRYPTION_', 'OAUTH_', 'OIDC_', 'PERSISTED_OPERATIONS', 'RATE_LIMIT', 'RETENTION_'];
/** Kubernetes sets these for a service with the name `database`. */
const OF_SERVICES = /_(?:SERVICE|PORT)(?:_|$)/;

/**
 * One line for each environment variable that is no setting but looks like one: it begins like one, or differs from one in at most two
 * characters. Names without `_`, such as HOST and HOME, are too much like those of other programs.
 */
export const misspelledVariables = (
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] =>
  Object.keys(env)
    .filter((name) => env[name] && !known.includes(name) && !OF_SERVICES.test(name))
    .flatMap((name) => {
      const meant = suggestion(
        name,
        known.filter((each) => each.includes('_')),
      );
      if (meant) return [`${name}: is not a setting${meant}`];
      const isOurs = PREFIXES.some((prefix) => name.startsWith(prefix));
      return isOurs ? [`${name}: is not a setting; docs/configuration.md lists them`] : [];
    });
