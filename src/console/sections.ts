import type { ComponentType } from 'preact';
import type { IconName } from './parts/icons.tsx';
import { isAdministrator } from './parts/caller.ts';
import type { Answers } from './generated/operation-types.ts';
import type { Scope } from './parts/scopes.ts';
import { OverviewPage } from './overview/overview-page.tsx';
import { SessionsPage } from './sessions/sessions-page.tsx';
import { SessionPage } from './sessions/session-page.tsx';
import { RecordPage } from './record/record-page.tsx';
import { EventDefinitionsPage } from './event-definitions/event-definitions-page.tsx';
import { EventDefinitionPage } from './event-definitions/event-definition-page.tsx';
import { McpConnectionsPage } from './mcp-connections/mcp-connections-page.tsx';
import { McpConnectionPage } from './mcp-connections/mcp-connection-page.tsx';
import { ToolApprovalPage, ToolApprovalsPage } from './tool-approvals/tool-approvals-page.tsx';
import { WebhooksPage } from './webhooks/webhooks-page.tsx';
import { WebhookPage } from './webhooks/webhook-page.tsx';
import { ApiKeysPage } from './api-keys/api-keys-page.tsx';
import { AccessReviewPage } from './members/access-review-page.tsx';
import { GroupsPage } from './members/groups-page.tsx';
import { MembersPage } from './members/members-page.tsx';
import { OrganizationPage } from './organizations/organization-page.tsx';
import { AuditLogPage } from './audit-log/audit-log-page.tsx';
import { UsagePage } from './usage/usage-page.tsx';
import { ProfilePage } from './profile/profile-page.tsx';

/** The sections of the console. */

/** The groups of the menu, in its order. */
export const GROUPS = ['Work', 'Set-up', 'Administration'] as const;

export interface Section {
  readonly href: string;
  readonly name: string;
  /** Its place in the menu; without one it stands at the foot. */
  readonly group?: (typeof GROUPS)[number];
  readonly icon?: IconName;
  /** The scope that its page needs, and another one that opens it too. */
  readonly scope?: Scope;
  readonly orScope?: Scope;
  /** Whether only administrators see it. */
  readonly isForAdministrators?: boolean;
  /** Its page. */
  readonly list: ComponentType;
  /** Finds one object, to learn which organization has it. */
  readonly find?: 'FindSession' | 'FindEventDefinition' | 'FindMcpServer' | 'FindToolApproval' | 'FindWebhook';
  /** The page of one object. */
  readonly object?: ComponentType<{ readonly id: string }>;
}

const SECTIONS: readonly Section[] = [
  {
    href: '/overview',
    name: 'Overview',
    group: 'Work',
    icon: 'overview',
    scope: 'SESSIONS_READ',
    list: OverviewPage,
  },
  {
    href: '/sessions',
    name: 'Sessions',
    group: 'Work',
    icon: 'session',
    scope: 'SESSIONS_READ',
    list: SessionsPage,
    find: 'FindSession',
    object: SessionPage,
  },
  {
    href: '/record',
    name: 'Record',
    group: 'Set-up',
    icon: 'record',
    scope: 'SESSIONS_READ',
    list: RecordPage,
  },
  {
    href: '/event-definitions',
    name: 'Event definitions',
    group: 'Work',
    icon: 'definition',
    scope: 'BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE',
    list: EventDefinitionsPage,
    find: 'FindEventDefinition',
    object: EventDefinitionPage,
  },
  {
    href: '/mcp-connections',
    name: 'MCP connections',
    group: 'Set-up',
    icon: 'connection',
    scope: 'MCP_CONNECTIONS_READ',
    list: McpConnectionsPage,
    find: 'FindMcpServer',
    object: McpConnectionPage,
  },
  {
    href: '/tool-approvals',
    name: 'Approvals',
    group: 'Work',
    icon: 'approval',
    scope: 'MCP_CONNECTIONS_USE',
    list: ToolApprovalsPage,
    find: 'FindToolApproval',
    object: ToolApprovalPage,
  },
  {
    href: '/webhooks',
    name: 'Webhooks',
    group: 'Set-up',
    icon: 'webhook',
    scope: 'WEBHOOKS_WRITE',
    isForAdministrators: true,
    list: WebhooksPage,
    find: 'FindWebhook',
    object: WebhookPage,
  },
  { href: '/members', name: 'Members', group: 'Administration', icon: 'person', list: MembersPage },
  {
    href: '/api-keys',
    name: 'API keys',
    group: 'Administration',
    icon: 'key',
    scope: 'API_KEYS_READ',
    list: ApiKeysPage,
  },
  {
    href: '/groups',
    name: 'Groups',
    group: 'Administration',
    icon: 'group',
    scope: 'ORGANIZATIONS_WRITE',
    isForAdministrators: true,
    list: GroupsPage,
  },
  {
    href: '/access-review',
    name: 'Access review',
    group: 'Administration',
    icon: 'review',
    scope: 'ORGANIZATIONS_WRITE',
    isForAdministrators: true,
    list: AccessReviewPage,
  },
  {
    href: '/audit-log',
    name: 'Audit log',
    group: 'Administration',
    icon: 'log',
    scope: 'AUDIT_LOG_READ',
    orScope: 'ORGANIZATIONS_WRITE',
    isForAdministrators: true,
    list: AuditLogPage,
  },
  {
    href: '/organization',
    name: 'Organization',
    group: 'Administration',
    icon: 'organization',
    list: OrganizationPage,
  },
  {
    href: '/usage',
    name: 'Usage',
    group: 'Work',
    icon: 'usage',
    scope: 'BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE',
    list: UsagePage,
  },
];

/** At the foot, beside the name of the caller. */
export const PROFILE: Section = {
  href: '/profile',
  name: 'Profile',
  list: ProfilePage,
};

/** The sections that the caller can read. */
export function sectionsFor(viewer: Answers['Viewer']['viewer'] | undefined): readonly Section[] {
  if (!viewer) return SECTIONS;
  const { scopes, organization } = viewer;
  // All of them are about an organization.
  if (!organization) return [];
  return SECTIONS.filter(
    ({ scope, orScope, isForAdministrators = false }) =>
      (scope === undefined || [scope, orScope].some((each) => each && scopes.includes(each))) &&
      (!isForAdministrators || isAdministrator(viewer)),
  );
}

export function sectionOf(path: string): Section | undefined {
  return [...SECTIONS, PROFILE].find(({ href }) => path === href || path.startsWith(`${href}/`));
}
