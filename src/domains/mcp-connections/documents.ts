import { z } from 'zod';
import { answering, documentOf, readOnly } from '../../core/documents.ts';
import {
  ACCESS_MODES,
  AUTH_TYPES,
  TOOL_CALL_RECORDINGS,
  TOOL_CHANGES,
  TOOL_EFFECTS,
  TOOL_POLICY_MODES,
  TYPES,
  VISIBILITIES,
} from './entity.ts';
import { type McpConnectionRow, connectionRow } from './queries.ts';
import type { ConnectionResult } from './authorization/operations.ts';
import { ACCESS_TEXTS, MCP_CONNECTION_TEXTS, SETTINGS_TEXTS, TOOL_POLICY_TEXTS, TOOL_RULE_TEXTS } from './texts.ts';

export const connectionDocument = documentOf(MCP_CONNECTION_TEXTS, {
  id: readOnly(z.uuid()),
  name: z.string(),
  type: readOnly(z.enum(TYPES)),
  visibility: readOnly(z.enum(VISIBILITIES)),
  serverUrl: z.string().nullable(),
  connectedAt: readOnly(z.iso.datetime().nullable()),
  args: z.array(z.string()).nullable(),
  authType: readOnly(z.enum(AUTH_TYPES).nullable()),
  command: z.string().nullable(),
  createdAt: readOnly(z.iso.datetime()),
  updatedAt: readOnly(z.iso.datetime()),
  envKeys: readOnly(z.array(z.string())),
  headerKeys: readOnly(z.array(z.string())),
}).meta({ id: 'McpConnection' });

export const connectionExample: z.input<typeof connectionDocument> = {
  id: '8d0f6f3e-0c55-4f0b-9d3c-6a1b2c3d4e5f',
  name: 'Issue tracker',
  type: 'remote',
  visibility: 'shared',
  serverUrl: 'https://mcp.example.com/mcp',
  connectedAt: '2026-03-01T10:20:31.000Z',
  args: null,
  authType: 'oauth',
  command: null,
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:31.000Z',
  envKeys: [],
  headerKeys: [],
};

const RESULT_TEXTS = {
  authorizationUrl:
    'Address where a person authorizes the connection. Null when none is needed, as by a server that works without authorization, which is connected at once.',
  connection: 'The connection.',
};

export const resultDocument = documentOf(RESULT_TEXTS, {
  authorizationUrl: z.url().nullable(),
  connection: connectionDocument,
}).meta({ id: 'McpConnectionResult' });

export const resultExample: z.input<typeof resultDocument> = {
  authorizationUrl: 'https://auth.example.com/authorize?response_type=code&client_id=abc&state=xyz',
  connection: { ...connectionExample, connectedAt: null },
};

export const settingsDocument = documentOf(SETTINGS_TEXTS, {
  handle: z.string(),
  toolPolicy: documentOf(TOOL_POLICY_TEXTS, { mode: z.enum(TOOL_POLICY_MODES), names: z.array(z.string()) }),
  access: documentOf(ACCESS_TEXTS, { mode: z.enum(ACCESS_MODES), groupIds: z.array(z.uuid()) }),
  toolRules: z.array(
    documentOf(TOOL_RULE_TEXTS, {
      tools: z.array(z.string()),
      groupIds: z.array(z.uuid()),
      effect: z.enum(TOOL_EFFECTS),
    }),
  ),
  approverGroupIds: z.array(z.uuid()),
  onToolChange: z.enum(TOOL_CHANGES),
  recordToolCalls: z.enum(TOOL_CALL_RECORDINGS),
  audience: z.string().nullable(),
  resource: z.string().nullable(),
  allowMissingPkceMetadata: z.boolean(),
}).meta({ id: 'McpConnectionSettings' });

export const settingsExample: z.input<typeof settingsDocument> = {
  handle: 'issue-tracker',
  toolPolicy: { mode: 'ONLY', names: ['search_issues', 'read_issue'] },
  access: { mode: 'ALL', groupIds: [] },
  toolRules: [{ tools: ['delete_*'], groupIds: [], effect: 'DENY' }],
  approverGroupIds: [],
  onToolChange: 'ALLOW',
  recordToolCalls: 'ALL',
  audience: null,
  resource: null,
  allowMissingPkceMetadata: false,
};

/** A connection with its settings, for exports. */
export const toExported = (row: McpConnectionRow) => ({ ...toConnection(row), settings: toSettings(row) });

export const toConnection = answering<McpConnectionRow, typeof connectionDocument>(connectionDocument, () => ({}));

type Settings = Pick<McpConnectionRow, keyof typeof settingsExample>;
export const toSettings = answering<Settings, typeof settingsDocument>(
  settingsDocument,
  ({ toolPolicy, access, toolRules, approverGroupIds }) => ({
    approverGroupIds: [...approverGroupIds],
    toolPolicy: { ...toolPolicy, names: [...toolPolicy.names] },
    access: { ...access, groupIds: [...access.groupIds] },
    toolRules: toolRules.map((rule) => ({ ...rule, tools: [...rule.tools], groupIds: [...rule.groupIds] })),
  }),
);

export const toResult = ({ connection, authorizationUrl }: ConnectionResult): z.input<typeof resultDocument> => ({
  authorizationUrl,
  connection: toConnection(connectionRow(connection)),
});
