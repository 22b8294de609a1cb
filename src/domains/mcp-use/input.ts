import { z } from 'zod';
import type { McpConnectionId, SessionId } from '../../core/ids.ts';
import { idSchema, text } from '../../core/input/validation.ts';
import { inputText } from './texts.ts';

const mcpConnectionId = idSchema<McpConnectionId>().describe('Id of the connection.');

export const mcpConnectionReference = z.strictObject({ mcpConnectionId });

const sessionId = idSchema<SessionId>(z.uuid().toLowerCase());

export const noInput = z.strictObject({});

export const sessionReference = z.strictObject({ sessionId: sessionId.describe('Id of the session.') });

export const callMcpToolInput = z.strictObject({
  mcpConnectionId,
  name: text({ min: 1, max: 200 }).describe(inputText.name),
  arguments: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((given) => given ?? {})
    .describe(inputText.arguments),
  sessionId: sessionId.nullish().describe(inputText.sessionId),
  timeoutSeconds: z.int().min(1).max(600).default(60).describe(inputText.timeoutSeconds),
});
