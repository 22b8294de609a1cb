import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder, ownStatements } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { SessionType } from '../../sessions/graphql/types.ts';
import { READ_SESSIONS, type SessionRow } from '../../sessions/public.ts';
import { failuresOf } from '../failure.ts';
import { SessionEventType, resolveEvent } from './operations.ts';

const NULL = 'Null unless the session has failed, and when none of its last 1,000 entries has.';
const extensions = { ...refusable(READ_SESSIONS), ...needs<SessionRow>('id', 'state') };

builder.objectFields(SessionType, (t) => ({
  failureReason: t.string({
    nullable: true,
    description: `Why the session failed, in one line: its last failed call, or error of the provider. ${NULL}`,
    args: excerptArguments,
    extensions: { ...OWN_STATEMENT, ...extensions },
    resolve: async ({ id, state }, args, context, info) => {
      if (state !== 'failed') return null;
      const failure = await resolveBatched({ context, info }, id, failuresOf(context));
      return failure ? excerptOf(failure.reason, args) : null;
    },
  }),
  failureEvent: t.field({
    type: SessionEventType,
    nullable: true,
    description: `The event that says why the session failed. ${NULL}`,
    extensions: { ...ownStatements(2), ...extensions },
    resolve: async ({ id, state }, _, context, info) => {
      if (state !== 'failed') return null;
      const failure = await resolveBatched({ context, info }, id, failuresOf(context));
      return failure ? resolveEvent(context, info, { sessionId: id, id: failure.eventId }) : null;
    },
  }),
}));
