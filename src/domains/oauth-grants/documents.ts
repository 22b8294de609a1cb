import { z } from 'zod';
import { SCOPES } from '../../core/access.ts';
import { answering } from '../../core/documents.ts';
import type { ConnectedAppRow } from './queries.ts';

/** What both APIs answer. */

export const connectedAppDocument = z
  .strictObject({
    id: z
      .uuid()
      .describe('Id of the connected app. The audit log has it as that of the key.')
      .meta({ example: '7d444840-9dc0-41d1-b245-5ffdce74fad2' }),
    clientName: z.string().describe('The name that the client gives itself.').meta({ example: 'Claude' }),
    clientHost: z
      .string()
      .nullable()
      .describe(
        'The host that publishes the metadata document of the client, which nobody else can use. Null for a client that has registered itself, whose name is not checked, for one of the operator, and for the recorder.',
      )
      .meta({ example: 'claude.ai' }),
    resource: z
      .string()
      .describe('The address that the client can use, and no other; that of GraphQL has the paths of REST, too.')
      .meta({ example: 'https://gateway.example/v1/mcp' }),
    scopes: z
      .array(z.enum(SCOPES))
      .describe('What the client may do, at least one permission.')
      .meta({ example: ['mcp_connections.use'] }),
    organizationId: z
      .uuid()
      .describe('Id of the organization in which the client acts.')
      .meta({ example: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6' }),
    createdAt: z.iso
      .datetime()
      .describe('When the person gave the consent.')
      .meta({ example: '2026-03-01T08:00:00.000Z' }),
    lastUsedAt: z.iso
      .datetime()
      .nullable()
      .describe('When the client last sent a request, to the minute. Null when it never did.')
      .meta({ example: '2026-03-01T10:20:00.000Z' }),
  })
  .meta({ id: 'ConnectedApp' });
export const toConnectedApp = answering<ConnectedAppRow, typeof connectedAppDocument>(connectedAppDocument, () => ({}));
