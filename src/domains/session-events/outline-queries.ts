import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Page } from '../../core/postgres/reading/keyset.ts';
import { WORK } from '../../core/work-budget.ts';
import { READ_SESSIONS } from '../sessions/public.ts';
import { MAX_PAGE } from './input.ts';
import { type OutlineParts, OutlineBuilder } from './outline.ts';
import { type SessionEventRow, pagesOfEvents } from './queries.ts';

/** Reads what happens in a session, part by part. One or two pages of events are in memory. */

export interface SessionOutline extends OutlineParts {
  /** Null when there are no events. */
  readonly lastId: number | null;
  readonly hasMore: boolean;
}

interface PartSize {
  readonly pages: number;
  readonly marks: number;
  readonly entries: number;
}

export const PART: PartSize = { pages: 1, marks: WORK.outlineMarks, entries: WORK.outlineEntries };
export const WHOLE: PartSize = {
  pages: WORK.wholeOutlinePages,
  marks: WORK.wholeOutlineMarks,
  entries: WORK.wholeOutlineEntries,
};

const COLUMNS = ['id', 'createdAt', 'messageId', 'eventData', 'isSuperseded'] as const;

/** The part of each session after an event. Parts of several sessions have one page, because each further page is a statement. */
export function outlinesOf(
  context: OperationContext,
  after: number,
  size: PartSize,
): LoadBatch<SessionId, SessionOutline> {
  requireAccess(context.actor, READ_SESSIONS);
  return async (sessionIds) => {
    const isAlone = sessionIds.length === 1;
    const pages = isAlone ? size.pages : 1;
    const pageAfter = (from: number, limit = MAX_PAGE) =>
      pagesOfEvents(context, {
        page: { first: limit, after: String(from) },
        isAnswered: pages === 1,
        selected: COLUMNS,
      })(sessionIds);
    const outlines = new Map<SessionId, SessionOutline>();
    for (const [id, first] of await pageAfter(after)) {
      const next: NextPage = async (from, limit) => (await pageAfter(from, limit)).get(id);
      const outline = await outlineOf(first, after, { ...size, pages }, next);
      if (outline) outlines.set(id, outline);
    }
    return outlines;
  };
}

type NextPage = (after: number, limit: number) => Promise<Page<SessionEventRow> | undefined>;

/** Sums one page while the next one is read. Undefined when the session can no longer be read. */
async function outlineOf(
  first: Page<SessionEventRow>,
  after: number,
  { pages, ...size }: PartSize,
  next: NextPage,
): Promise<SessionOutline | undefined> {
  const outline = new OutlineBuilder(size, first.rows.length);
  let lastId = after;
  let page = first;
  for (let number = 1; ; number += 1) {
    const { rows: events, hasNextPage } = page;
    lastId = events.at(-1)?.id ?? lastId;
    const goesOn = hasNextPage && number < pages;
    const [found] = await Promise.all([goesOn ? next(lastId, limitAfter(events)) : undefined, outline.add(events)]);
    if (!goesOn) return { ...outline.parts, lastId: lastId || null, hasMore: hasNextPage };
    if (!found) return undefined;
    page = found;
  }
}

/** As many events as have about the wanted bytes. A page that ends early for its bytes costs a connection. */
function limitAfter(events: readonly SessionEventRow[]): number {
  const bytes = events.reduce((sum, { eventData }) => sum + eventData.length, 0);
  const fitting = Math.floor((WORK.wholeOutlineBytes * events.length) / bytes);
  return Math.max(1, Math.min(WORK.wholeOutlineEvents, fitting));
}
