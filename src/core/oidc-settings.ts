import { z } from 'zod';

/** The settings of the sign-in with an identity provider (OpenID Connect). docs/sign-in.md describes them. */

const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,62}\.)*[a-z0-9-]{1,63}$/;

function names(isValid: (name: string) => boolean, fault: string) {
  return z.string().transform((value, context): string[] => {
    const list = value.split(',').map((name) => name.trim());
    if (!list.every((name) => name !== '' && isValid(name))) context.addIssue(fault);
    return list;
  });
}

/** The issuer as the provider writes it: its metadata must repeat it. */
function isIssuer(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return ['http:', 'https:'].includes(protocol) && [username, password, search, hash].every((part) => part === '');
}

export const OIDC_ENVIRONMENT = {
  /** The issuer, exactly as the provider's metadata write it. An http issuer, or one in a private network, needs `ALLOW_PRIVATE_NETWORK=true`. */
  OIDC_ISSUER: z.string().refine(isIssuer, 'must be an https URL without user, query and fragment').optional(),
  /** The id of the application; required with `OIDC_ISSUER`, as are `OIDC_CLIENT_SECRET` and `OIDC_DOMAINS`. */
  OIDC_CLIENT_ID: z.string().min(1).max(1000).optional(),
  /** Its secret. */
  OIDC_CLIENT_SECRET: z.string().min(1).max(10_000).optional(),
  /** How the secret is sent: `basic` or `post`. Default: `basic`, where the provider lists it. */
  OIDC_TOKEN_AUTH: z.enum(['basic', 'post'], 'must be basic or post').optional(),
  /** The name on the button. */
  OIDC_NAME: z.string().max(60, 'must have at most 60 characters').default('your company'),
  /** Domains of e-mail addresses that may sign in, separated by commas, such as `example.com,example.org`. Sub-domains are listed one by one. */
  OIDC_DOMAINS: names(
    (name) => DOMAIN.test(name.toLowerCase()),
    'must be domains such as example.com, separated by commas',
  )
    .transform((domains) => domains.map((domain) => domain.toLowerCase()))
    .optional(),
  /** The slug of the organization that new people join, and whose roles follow groups. Create it first with `keys create`; the APIs refuse this slug. */
  OIDC_ORGANIZATION: z
    .string()
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be the slug of an organization')
    .optional(),
  /** `member`: a new account joins `OIDC_ORGANIZATION`. `none`: it joins nothing until it accepts an invitation. */
  OIDC_DEFAULT_ROLE: z.enum(['member', 'none'], 'must be member or none').default('none'),
  /** The claim with the groups of a person, such as `groups`. */
  OIDC_GROUPS_CLAIM: z.string().max(1000).optional(),
  /** Groups, separated by commas, whose members are administrators of `OIDC_ORGANIZATION`; others are members. */
  OIDC_ADMIN_GROUPS: names(() => true, 'must be names of groups, separated by commas').optional(),
  /** Groups whose members are viewers there, unless they are administrators. */
  OIDC_VIEWER_GROUPS: names(() => true, 'must be names of groups, separated by commas').optional(),
  /** Groups, separated by commas, whose members alone may sign in. Default: any. */
  OIDC_ALLOWED_GROUPS: names(() => true, 'must be names of groups, separated by commas').optional(),
  /** What a missing groups claim means: `none`: no groups, as Okta and Entra leave it out then; `keep`: nothing, so that no role changes. */
  OIDC_GROUPS_MISSING: z.enum(['none', 'keep'], 'must be none or keep').default('none'),
  /**
   * `verified`: an address counts only with `email_verified: true`. `trusted`: also without that claim (never with `false`), for providers whose
   * administrators give the addresses.
   */
  OIDC_EMAIL: z.enum(['verified', 'trusted'], 'must be verified or trusted').default('verified'),
  /**
   * A day, such as `2026-12-31`, until whose end (UTC) each account is joined once more, to a new subject with its verified address: for a
   * provider that gives new subjects, such as Entra for a new application. The old subject is unlinked.
   */
  OIDC_RELINK_UNTIL: z.iso.date('must be a day such as 2026-12-31').optional(),
  /**
   * `true`: a sign-out also ends the session at the provider, and the provider ends sign-ins here (Back-Channel Logout 1.0) at
   * `PUBLIC_URL/sign-in/oidc/logout`. Register that address, and `PUBLIC_URL/sign-in` as the address after a logout.
   */
  OIDC_LOGOUT: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((value) => value === 'true')
    .default(false),
  /** `true`: keys no longer sign browsers in, and people of `OIDC_DOMAINS` alone are invited, who accept with the identity provider. */
  OIDC_ONLY: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((value) => value === 'true')
    .default(false),
  /**
   * Days: keys and connected apps of a person with an identity who has not signed in for so long are refused until they do, and apps are not
   * refreshed; `0` turns this off.
   */
  OIDC_KEYS_SLEEP_AFTER: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number of days from 0 to 36500')
    .transform(Number)
    .refine((days) => days <= 36_500, 'must be a whole number of days from 0 to 36500')
    .default(0),
};

type Environment = z.output<z.ZodObject<typeof OIDC_ENVIRONMENT>>;

/** The settings of a gateway that has an identity provider. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tokenAuth: 'basic' | 'post' | undefined;
  readonly name: string;
  readonly domains: readonly string[];
  readonly organization: string | undefined;
  readonly defaultRole: 'member' | 'none';
  readonly groupsClaim: string | undefined;
  readonly adminGroups: readonly string[];
  readonly viewerGroups: readonly string[];
  /** Undefined for any. */
  readonly allowedGroups: readonly string[] | undefined;
  readonly groupsMissing: 'none' | 'keep';
  readonly email: 'verified' | 'trusted';
  readonly relinkUntil: string | undefined;
  /** Whether a sign-out ends the session at the provider, and the other way round. */
  readonly logout: boolean;
}

/** Undefined without a provider. */
export function oidcSettings(config: Environment): OidcSettings | undefined {
  const {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    OIDC_DOMAINS: domains,
  } = config;
  if (!issuer || !clientId || !clientSecret || !domains) return undefined;
  return {
    issuer,
    clientId,
    clientSecret,
    tokenAuth: config.OIDC_TOKEN_AUTH,
    domains,
    name: config.OIDC_NAME,
    organization: config.OIDC_ORGANIZATION,
    defaultRole: config.OIDC_DEFAULT_ROLE,
    groupsClaim: config.OIDC_GROUPS_CLAIM,
    adminGroups: config.OIDC_ADMIN_GROUPS ?? [],
    viewerGroups: config.OIDC_VIEWER_GROUPS ?? [],
    allowedGroups: config.OIDC_ALLOWED_GROUPS,
    groupsMissing: config.OIDC_GROUPS_MISSING,
    email: config.OIDC_EMAIL,
    relinkUntil: config.OIDC_RELINK_UNTIL,
    logout: config.OIDC_LOGOUT,
  };
}

/** What is wrong with settings that are valid one by one; undefined if nothing is. */
export function oidcFault(config: Environment & { readonly ALLOW_PRIVATE_NETWORK: boolean }): string | undefined {
  const { OIDC_ISSUER: issuer, OIDC_ORGANIZATION: organization } = config;
  const { OIDC_ADMIN_GROUPS: adminGroups, OIDC_VIEWER_GROUPS: viewerGroups } = config;
  if (issuer === undefined) {
    const needing = [
      ['OIDC_CLIENT_ID', config.OIDC_CLIENT_ID],
      ['OIDC_CLIENT_SECRET', config.OIDC_CLIENT_SECRET],
      ['OIDC_DOMAINS', config.OIDC_DOMAINS],
      ['OIDC_ORGANIZATION', organization],
      ['OIDC_GROUPS_CLAIM', config.OIDC_GROUPS_CLAIM],
      ['OIDC_ADMIN_GROUPS', adminGroups],
      ['OIDC_VIEWER_GROUPS', viewerGroups],
      ['OIDC_ALLOWED_GROUPS', config.OIDC_ALLOWED_GROUPS],
      ['OIDC_ONLY', config.OIDC_ONLY || undefined],
      ['OIDC_LOGOUT', config.OIDC_LOGOUT || undefined],
      ['OIDC_KEYS_SLEEP_AFTER', config.OIDC_KEYS_SLEEP_AFTER || undefined],
    ] as const;
    const name = needing.find(([, value]) => value !== undefined)?.[0];
    return name && `OIDC_ISSUER: is required with ${name}`;
  }
  if (!issuer.startsWith('https:') && !config.ALLOW_PRIVATE_NETWORK)
    return 'OIDC_ISSUER: must be an https URL; http is allowed only with ALLOW_PRIVATE_NETWORK=true';
  for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_DOMAINS'] as const)
    if (config[name] === undefined) return `${name}: is required with OIDC_ISSUER`;
  if (config.OIDC_DEFAULT_ROLE === 'member' && !organization)
    return 'OIDC_ORGANIZATION: is required with OIDC_DEFAULT_ROLE=member';
  if (config.OIDC_ALLOWED_GROUPS && !config.OIDC_GROUPS_CLAIM)
    return 'OIDC_GROUPS_CLAIM: is required with OIDC_ALLOWED_GROUPS';
  if (adminGroups && !organization) return 'OIDC_ORGANIZATION: is required with OIDC_ADMIN_GROUPS';
  if (viewerGroups && !organization) return 'OIDC_ORGANIZATION: is required with OIDC_VIEWER_GROUPS';
  return undefined;
}
