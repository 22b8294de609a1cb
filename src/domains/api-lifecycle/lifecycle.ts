/**
 * Removed and deprecated APIs (custom event definition API, section 9). The REST API and `apiLifecycle` of the GraphQL API both use these
 * tables.
 */

export interface RemovedApi {
  readonly name: string;
  readonly pathPrefix: string;
  /** The day in UTC from which requests are answered 410. */
  readonly removedOn: string;
  readonly replacement: string | null;
}

export const REMOVED_APIS: readonly RemovedApi[] = [
  {
    name: 'table-storage API v2',
    pathPrefix: '/table-storage/v2',
    removedOn: '2024-12-16',
    replacement: 'table-storage API v3',
  },
  {
    name: 'site performance API',
    pathPrefix: '/site-performance',
    removedOn: '2024-04-09',
    replacement: 'the analytics API',
  },
  {
    name: 'ecommerce bridge',
    pathPrefix: '/ecommerce-bridge',
    removedOn: '2023-02-28',
    replacement: 'CRM v3 APIs, calls authenticated by an app',
  },
  {
    name: 'accounting extension',
    pathPrefix: '/accounting-extension',
    removedOn: '2023-02-28',
    replacement: 'CRM v3 APIs, calls authenticated by an app',
  },
  { name: 'marketing calendar', pathPrefix: '/marketing-calendar', removedOn: '2023-08-31', replacement: null },
  {
    name: 'contact lists v1',
    pathPrefix: '/contacts/v1/lists',
    removedOn: '2026-04-30',
    replacement: 'the latest lists API',
  },
];

export interface DeprecatedApi {
  readonly name: string;
  readonly paths: readonly string[];
}

export const DEPRECATED_APIS: readonly DeprecatedApi[] = [
  {
    name: 'social publishing API',
    paths: [
      'GET /broadcast/v1/channels/setting/publish/current',
      'GET /broadcast/v1/broadcasts',
      'GET /broadcast/v1/broadcasts/:broadcast_guid',
      'POST /broadcast/v1/broadcasts',
      'DELETE /broadcast/v1/broadcasts/:broadcast_guid',
    ],
  },
];

/** The removed API that a path belongs to; undefined when none is, or when it is not removed yet. */
export const removedApiAt = (path: string, now: Date): RemovedApi | undefined =>
  REMOVED_APIS.find(
    ({ pathPrefix, removedOn }) =>
      (path === pathPrefix || path.startsWith(`${pathPrefix}/`)) && now >= new Date(removedOn),
  );

export const describeRemoval = ({ name, removedOn, replacement }: RemovedApi): string =>
  `${name} was removed on ${removedOn}; ${replacement === null ? 'it has no replacement' : `use ${replacement} instead`}`;
