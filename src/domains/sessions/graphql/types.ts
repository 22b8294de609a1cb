import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import type { ArtifactRow } from '../artifact-queries.ts';
import { readSessions } from '../operations.ts';
import { READ_SESSIONS } from '../policy.ts';
import type { SessionRow } from '../queries.ts';
import { ArtifactType } from './artifact-types.ts';
import { codeFields, configurationFields, linkFields, peopleFields, stateFields, taskFields } from './fields.ts';

export const SessionType = nodeType<SessionRow>('Session', {
  description:
    'One run of a coding agent. All members of the organization can read a public session; only its creator and administrators can read a private one.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readSessions(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...taskFields(t),
    ...configurationFields(t),
    ...codeFields(t),
    ...linkFields(t),
    ...stateFields(t),
    ...peopleFields(t),
  }),
});

builder.objectField(ArtifactType, 'session', (t) =>
  t.field({
    type: SessionType,
    nullable: true,
    description: 'The session of the artifact. Null when it was deleted in the meantime.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<ArtifactRow>('sessionId') },
    resolve: ({ sessionId }, _, context, info) =>
      resolveReference({ context, info }, 'Session', sessionId, readSessions),
  }),
);
