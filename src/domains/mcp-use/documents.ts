import { z } from 'zod';

/** What a tool has returned. */
export const toolResultDocument = z
  .strictObject({
    isError: z.boolean().describe('Whether the tool failed; `content` says why.').meta({ example: false }),
    content: z
      .array(z.unknown())
      .nullable()
      .describe(
        'The content blocks as the server sent them, of known and unknown types. Null in a replayed answer that was larger than 256 KiB.',
      )
      .meta({ example: [{ type: 'text', text: '2 issues' }] }),
    structuredContent: z
      .unknown()
      .describe('The structured result as the server sent it. Null when there is none.')
      .meta({ example: { count: 2 } }),
    durationMs: z.int().describe('Duration of the call in milliseconds.').meta({ example: 231 }),
  })
  .meta({ id: 'McpToolResult' });
