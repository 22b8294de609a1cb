import { builder } from '../../../core/graphql/builder.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { referenceTo } from '../../../core/graphql/references.ts';
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

export const sessionField = referenceTo(SessionType, readSessions);

builder.objectField(ArtifactType, 'session', (t) =>
  sessionField(t, 'sessionId', 'The session of the artifact. Null when it was deleted in the meantime.', READ_SESSIONS),
);
