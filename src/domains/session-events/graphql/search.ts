import { OWN_STATEMENT, builder, ownStatements } from '../../../core/graphql/builder.ts';
import { connectionType, resolveList } from '../../../core/graphql/connections.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { inGraphQL } from '../../../core/text/wording.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
import { SessionFilterInput } from '../../sessions/graphql/operations.ts';
import { sessionField } from '../../sessions/graphql/types.ts';
import { type SessionMatch, searchSessions } from '../search-operations.ts';
import { searchArguments } from '../input.ts';
import { SessionEventType, resolveEvent } from './operations.ts';
import { shown } from '../../../core/graphql/derived-fields.ts';
import { matchDocument } from '../documents.ts';
import { SEARCHED_TEXT } from '../texts.ts';
import { parseInput } from '../../../core/input/validation.ts';

const SessionMatchType = builder.objectRef<SessionMatch>('SessionMatch').implement({
  description: 'A text that was found in a session.',
  fields: (t) => ({
    session: sessionField(t, 'sessionId', 'The session. Null when it was deleted in the meantime.'),
    event: t.field({
      type: SessionEventType,
      nullable: true,
      description:
        'The event that has the text. Null when the title was found, or the event was deleted in the meantime.',
      extensions: OWN_STATEMENT,
      resolve: ({ sessionId, eventId }, _, context, info) =>
        eventId === null ? null : resolveEvent(context, info, { sessionId, id: eventId }),
    }),
    ...shown(t, matchDocument, ['eventId', 'excerpt']),
  }),
});

const SessionMatchConnection = connectionType(SessionMatchType, { of: 'found texts' });

builder.objectField(OrganizationType, 'sessionSearch', (t) =>
  t.connection(
    {
      type: SessionMatchType,
      description: inGraphQL(searchSessions.declaration.description),
      args: {
        search: t.arg.string({ description: `${SEARCHED_TEXT} Required, but for the older name \`text\`.` }),
        text: t.arg.string({ description: 'As `search`.', deprecationReason: 'Use `search`. Removed on 2027-12-01.' }),
        filter: t.arg({
          type: SessionFilterInput,
          description: 'Conditions on the sessions. When absent, all sessions are searched.',
        }),
      },
      extensions: {
        ...refusable(searchSessions.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
        // The texts that are found, and their excerpts.
        ...ownStatements(2),
      },
      resolve: ({ id: organizationId }, args, context, info) => {
        const { text, search, filter, ...page } = args;
        const given = parseInput(searchArguments, { search, text });
        const phrases = given.search ?? given.text ?? [];
        const list = () => searchSessions(context, { organizationId, phrases, filter: filter ?? {}, page });
        return resolveList({ context, info, args }, organizationId, list, undefined);
      },
    },
    SessionMatchConnection,
  ),
);
