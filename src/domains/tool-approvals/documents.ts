import { z } from 'zod';
import { answering } from '../../core/documents.ts';
import { TOOL_APPROVAL_STATES } from './entity.ts';
import type { ToolApprovalRow } from './queries.ts';

export const toolApprovalDocument = z
  .strictObject({
    id: z.uuid().describe('Id of the approval.').meta({ example: '0c3a1e52-6f0b-4c55-9a8e-3f1d2c4b5a69' }),
    mcpConnectionId: z
      .uuid()
      .describe('Id of the MCP connection.')
      .meta({ example: '8d0f6f3e-0c55-4f0b-9d3c-6a1b2c3d4e5f' }),
    toolName: z.string().describe('Name of the tool at the server.').meta({ example: 'create_issue' }),
    argumentsDigest: z
      .string()
      .describe('SHA-256 of the arguments: members sorted, numbers as their text.')
      .meta({ example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08' }),
    preview: z
      .string()
      .describe('The beginning of the arguments as JSON, at most 4 KiB, without credentials.')
      .meta({ example: '{"title":"Login fails"}' }),
    callerId: z
      .uuid()
      .describe('Id of the person or service account whose call it is.')
      .meta({ example: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d' }),
    sessionId: z
      .uuid()
      .nullable()
      .describe('Id of the session of the call. Null for none.')
      .meta({ example: '5f0b1a2c-8d4e-4f6a-9b7c-1d2e3f4a5b6c' }),
    state: z
      .enum(TOOL_APPROVAL_STATES)
      .describe('Whether it waits, was decided, was used for the call, or has expired.')
      .meta({ example: 'PENDING' }),
    decidedById: z.uuid().nullable().describe('Id of the person who has decided. Null for none.'),
    createdAt: z.iso.datetime().describe('When it was asked for.').meta({ example: '2026-03-01T10:20:30.500Z' }),
    expiresAt: z.iso
      .datetime()
      .describe('Until when it can be decided and used: 15 minutes after it was asked for.')
      .meta({ example: '2026-03-01T10:35:30.500Z' }),
  })
  .meta({ id: 'ToolApproval' });

export const toToolApproval = answering<ToolApprovalRow, typeof toolApprovalDocument>(toolApprovalDocument, (row) => ({
  mcpConnectionId: row.connectionId,
  callerId: row.userId,
}));
