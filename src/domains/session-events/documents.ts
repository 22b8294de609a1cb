import { z } from 'zod';
import { readOnly } from '../../core/documents.ts';
import { sessionDocument } from '../sessions/public.ts';
import { eventDataFields } from './event-data.ts';

/** What both APIs answer about the events of sessions. */

const ofSession = <Schema extends z.ZodType>(schema: Schema) =>
  schema.describe('Id of the session.').meta({ example: '0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10' });

export const sessionEventDocument = z
  .strictObject({
    id: readOnly(z.int())
      .describe('Id of the event. The events of a session are numbered from 1.')
      .meta({ example: 42 }),
    createdAt: z.iso.datetime().describe('When the event happened.').meta({ example: '2026-03-01T10:20:31.000Z' }),
    eventType: z.string().describe('Type of the event.').meta({ example: 'content_block_delta' }),
    messageId: z
      .uuid()
      .nullable()
      .describe('Id of the message that the event belongs to. Null when there is none.')
      .meta({ example: '3f2a8c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b' }),
    sessionId: ofSession(readOnly(z.uuid())),
    provider: z
      .string()
      .describe('Name of the model provider; empty when none was given.')
      .meta({ example: 'anthropic' }),
    eventData: eventDataFields
      .describe('The data of the event as it was recorded, with the documented fields and any others.')
      .meta({
        example: {
          type: 'content_block_delta',
          scope: { kind: 'foreground' },
          delivery: 'realtime',
          deltaType: 'text_delta',
          responsePhase: 'commentary',
          accumulatedText: 'The timer fires before',
          index: 0,
        },
      }),
  })
  .meta({ id: 'SessionEvent' });

export const failureDocument = z
  .strictObject({
    reason: z.string().nullable().describe('Why it failed, in one line.').meta({ example: 'Bash: Exit code 1' }),
    event: sessionEventDocument.nullable().describe('The event that says so.'),
  })
  .meta({ id: 'SessionFailure' });

export const appendedDocument = z
  .strictObject({
    sessionId: ofSession(z.uuid()),
    firstId: z.int().describe('Id of the first event of the batch.').meta({ example: 42 }),
    lastId: z
      .int()
      .describe('Id of the last event of the batch, which is also the cursor after the batch.')
      .meta({ example: 42 }),
    isReplayed: z
      .boolean()
      .describe('Whether the batch was already stored by an earlier request.')
      .meta({ example: false }),
    events: z.int().describe('How many events were appended.').meta({ example: 1 }),
    repairedTexts: z
      .int()
      .describe(
        'In how many texts NUL characters and lone surrogates, which cannot be stored, were replaced by U+FFFD.',
      )
      .meta({ example: 0 }),
    redactedSecrets: z
      .int()
      .describe(
        'How many credentials were replaced by `[redacted]` before the events were stored. A credential that an event, or the lines of one request, have several times counts once.',
      )
      .meta({ example: 0 }),
    repeatedLines: z
      .int()
      .describe('How many lines the session had already, so that they made no events.')
      .meta({ example: 0 }),
  })
  .meta({ id: 'AppendedEvents' });

export const redactedDocument = z
  .strictObject({
    redactedEvents: z.int().describe('How many events were changed.').meta({ example: 2 }),
    redactedTexts: z
      .int()
      .describe('How many texts were changed, in events, in the session and in its pull requests.')
      .meta({ example: 3 }),
  })
  .meta({ id: 'Redaction' });

export const matchDocument = z
  .strictObject({
    session: sessionDocument.describe('The session.'),
    eventId: z
      .int()
      .nullable()
      .describe('Id of the event, which REST uses and `SessionEvent.databaseId` has. Null when the title was found.'),
    excerpt: z.string().describe('The part of the text around the first word that was found.'),
  })
  .meta({ id: 'SessionMatch' });
