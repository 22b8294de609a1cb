import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { SessionType } from '../../sessions/graphql/types.ts';
import { type SessionRow, WRITE_SESSIONS } from '../../sessions/public.ts';
import { type SessionDeletionPreview, deletionPreviewsOf } from '../deletion-preview.ts';
import { redactSessionEvents } from '../redaction-operations.ts';
import { REDACTED_TEXTS } from '../texts.ts';

const PreviewType = builder.objectRef<SessionDeletionPreview>('SessionDeletionPreview').implement({
  description: 'What would be deleted together with a session now.',
  fields: (t) => ({
    events: t.exposeInt('events', { description: 'Number of events.' }),
    artifacts: t.exposeInt('artifacts', { description: 'Number of artifacts.' }),
    pullRequests: t.exposeInt('pullRequests', { description: 'Number of pull requests.' }),
  }),
});

builder.objectField(SessionType, 'deletionPreview', (t) =>
  t.field({
    type: PreviewType,
    nullable: true,
    description: 'What would be deleted together with the session. Null when it was deleted in the meantime.',
    extensions: { ...OWN_STATEMENT, ...refusable(WRITE_SESSIONS), ...needs<SessionRow>('id') },
    resolve: async ({ id }, _, context, info) =>
      (await resolveBatched({ context, info }, id, deletionPreviewsOf(context))) ?? null,
  }),
);

mutation(redactSessionEvents, {
  ids: { sessionId: 'Session', eventIds: 'SessionEvent' },
  types: { eventIds: 'ID' },
  payload: (t) => ({
    redactedEvents: t.exposeInt('redactedEvents', { description: REDACTED_TEXTS.redactedEvents }),
    redactedTexts: t.exposeInt('redactedTexts', { description: REDACTED_TEXTS.redactedTexts }),
  }),
});
