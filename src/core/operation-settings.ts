import type { OidcSettings } from './oidc-settings.ts';
import type { Subscriptions } from './config.ts';

export interface OperationSettings {
  readonly defaultSubscriptions: Subscriptions;
  /** The slug of OIDC_ORGANIZATION, which only the operator gives to an organization. */
  readonly reservedSlug: string | undefined;
  /** The identity provider, without what is secret. Undefined without one. */
  readonly company: Omit<OidcSettings, 'clientId' | 'clientSecret' | 'tokenAuth'> | undefined;
  /** With OIDC_ONLY, the domains of the e-mail addresses that can be invited: people join through the identity provider alone. */
  readonly companyDomains: readonly string[] | undefined;
  /** URL of the gateway for people and other servers, without a trailing slash. */
  readonly publicUrl: string;
  /** URL of the OAuth client metadata document, if it is not on the gateway. */
  readonly clientMetadataUrl: string | undefined;
  /** How long the deletion of an account can be canceled. */
  readonly userDeletionDelaySeconds: number;
  /** Whether people can delete their own account. */
  readonly isSelfDeletionAllowed: boolean;
  readonly organizationCreation: 'anyone' | 'operator';
  /** Event occurrences that an organization may send in a calendar month (UTC); 0 means no limit. */
  readonly monthlyOccurrenceLimit: number;
  /** Whether credentials in recorded events and descriptions of sessions are replaced. */
  readonly isRecordRedacted: boolean;
  /** The bound for all organizations of what they keep, in days; 0 sets none. */
  readonly retentionMaxDays: number;
  /** Days after which the operator deletes entries of the audit log; 0 for never. */
  readonly auditRetentionDays: number;
  /** The fewest days that an organization can set for its audit log. */
  readonly auditRetentionMinDays: number;
}
