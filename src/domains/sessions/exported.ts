import { type Exported, exportedList } from '../../core/exported-pages.ts';
import { ARTIFACTS, PULL_REQUESTS } from './artifact-queries.ts';
import { stateFlags } from './documents.ts';
import { PROJECTS, SESSIONS, type SessionRow } from './queries.ts';

/** What the export of an organization has of sessions, each followed by what belongs to it. */
export const EXPORTED: readonly Exported[] = [
  exportedList('project', PROJECTS),
  exportedList('session', SESSIONS, { lineOf, ofPerson: (id) => ({ creatorIds: [id] }) }),
  exportedBelow('artifact', 'session', ARTIFACTS),
  exportedBelow('pullRequest', 'artifact', PULL_REQUESTS),
];

function exportedBelow(kind: string, below: string, list: typeof ARTIFACTS | typeof PULL_REQUESTS): Exported {
  const order = { field: 'CREATED_AT', direction: 'ASC' } as const;
  return {
    kind,
    below,
    pages: (context, page, ids, selected) => list.pagesBelow(context, { filter: {}, order, page }, selected)(ids),
  };
}

/** As GraphQL answers it. Its own kind has another name here, because each line has a kind. */
function lineOf({
  kind: sessionKind,
  state,
  source,
  holdCreatorLabel,
  holdReason,
  heldById,
  heldAt,
  handledById,
  handledAt,
  ...row
}: SessionRow) {
  const held = { reason: holdReason, heldBy: heldById, heldAt, creatorLabel: holdCreatorLabel };
  const hold = heldAt === null ? null : held;
  const handled = handledAt === null ? null : { by: handledById, at: handledAt };
  return { ...row, sessionKind, state: stateFlags(state), sessionSource: source, hold, handled };
}
