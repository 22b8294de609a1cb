import type { ComponentType } from 'preact';
import { isAdministrator } from './caller.ts';
import type { Answers } from './operation-types.ts';

/** The sections of the console. */

export interface Section {
  readonly href: string;
  readonly name: string;
  /** The scope that its page needs. */
  readonly scope?: Answers['Viewer']['viewer']['scopes'][number];
  /** Whether only administrators see it. */
  readonly isForAdministrators?: boolean;
  /** Loads the code of its page, when that is opened. */
  readonly list: () => Promise<ComponentType>;
  /** Finds one object, to learn which organization has it. */
  readonly find?: 'FindSession' | 'FindEventDefinition' | 'FindMcpServer' | 'FindWebhook';
  /** Loads the code of the page of one object. */
  readonly object?: () => Promise<ComponentType<{ readonly id: string }>>;
}

const SECTIONS: readonly Section[] = [
  {
    href: '/overview',
    name: 'Overview',
    scope: 'SESSIONS_READ',
    list: async () => (await import('./overview-page.ts')).OverviewPage,
  },
  {
    href: '/sessions',
    name: 'Sessions',
    scope: 'SESSIONS_READ',
    list: async () => (await import('./sessions-page.ts')).SessionsPage,
    find: 'FindSession',
    object: async () => (await import('./session-page.ts')).SessionPage,
  },
  {
    href: '/record',
    name: 'Record',
    scope: 'SESSIONS_READ',
    list: async () => (await import('./record-page.ts')).RecordPage,
  },
  {
    href: '/event-definitions',
    name: 'Event definitions',
    scope: 'BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE',
    list: async () => (await import('./event-definitions-page.ts')).EventDefinitionsPage,
    find: 'FindEventDefinition',
    object: async () => (await import('./event-definition-page.ts')).EventDefinitionPage,
  },
  {
    href: '/mcp-connections',
    name: 'MCP connections',
    scope: 'MCP_CONNECTIONS_READ',
    list: async () => (await import('./mcp-connections-page.ts')).McpConnectionsPage,
    find: 'FindMcpServer',
    object: async () => (await import('./mcp-connection-page.ts')).McpConnectionPage,
  },
  {
    href: '/webhooks',
    name: 'Webhooks',
    scope: 'WEBHOOKS_WRITE',
    isForAdministrators: true,
    list: async () => (await import('./webhooks-page.ts')).WebhooksPage,
    find: 'FindWebhook',
    object: async () => (await import('./webhook-page.ts')).WebhookPage,
  },
  {
    href: '/api-keys',
    name: 'API keys',
    scope: 'API_KEYS_READ',
    list: async () => (await import('./api-keys-page.ts')).ApiKeysPage,
  },
  { href: '/members', name: 'Members', list: async () => (await import('./members-page.ts')).MembersPage },
  {
    href: '/audit-log',
    name: 'Audit log',
    scope: 'ORGANIZATIONS_WRITE',
    isForAdministrators: true,
    list: async () => (await import('./audit-log-page.ts')).AuditLogPage,
  },
  {
    href: '/usage',
    name: 'Usage',
    scope: 'BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE',
    list: async () => (await import('./usage-page.ts')).UsagePage,
  },
];

/** At the foot, beside the name of the caller. */
export const PROFILE: Section = {
  href: '/profile',
  name: 'Profile',
  list: async () => (await import('./profile-page.ts')).ProfilePage,
};

/** The sections that the caller can read. */
export function sectionsFor(viewer: Answers['Viewer']['viewer'] | undefined): readonly Section[] {
  if (!viewer) return SECTIONS;
  const { scopes, organization } = viewer;
  // All of them are about an organization.
  if (!organization) return [];
  return SECTIONS.filter(
    ({ scope, isForAdministrators = false }) =>
      (scope === undefined || scopes.includes(scope)) && (!isForAdministrators || isAdministrator(viewer)),
  );
}

export function sectionOf(path: string): Section | undefined {
  return [...SECTIONS, PROFILE].find(({ href }) => path === href || path.startsWith(`${href}/`));
}
