import { z } from 'zod';
import type { McpConnectionId, SessionId } from '../../core/ids.ts';
import { idSchema, text } from '../../core/input/validation.ts';

const mcpConnectionId = idSchema<McpConnectionId>().describe('Id of the connection.');

export const mcpConnectionReference = z.strictObject({ mcpConnectionId });

const sessionId = idSchema<SessionId>(z.uuid().toLowerCase());

export const noInput = z.strictObject({});

export const sessionReference = z.strictObject({ sessionId: sessionId.describe('Id of the session.') });

export const callMcpToolInput = z.strictObject({
  mcpConnectionId,
  name: text({ min: 1, max: 200 }).describe('Name of the tool.'),
  arguments: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((given) => given ?? {})
    .describe('The arguments of the tool, with numbers of any size. When absent, none.'),
  sessionId: sessionId
    .nullish()
    .describe(
      'Id of the session that the call belongs to. The call and its result are appended to its events, which needs the scope `sessions.record`.',
    ),
  timeoutSeconds: z.int().min(1).max(600).default(60).describe('Maximum time of the call in seconds.'),
});
