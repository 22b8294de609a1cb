import { requireAccess } from '../../core/access.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { WORK } from '../../core/work-budget.ts';
import { READ_SESSIONS } from '../sessions/public.ts';
import { MAX_PAGE } from './input.ts';
import { type OutlineParts, OutlineBuilder } from './outline.ts';
import { type SessionEventSlice, slicesOf } from './queries.ts';

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

const COLUMNS = ['id', 'createdAt', 'eventData'] as const;

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
      slicesOf(context, {}, { after: from, limit, isAnswered: pages === 1 }, COLUMNS)(sessionIds);
    const outlines = new Map<SessionId, SessionOutline>();
    for (const [id, slice] of await pageAfter(after)) {
      const next: NextPage = async (from, limit) => (await pageAfter(from, limit)).get(id);
      const outline = await outlineOf(slice, after, { ...size, pages }, next);
      if (outline) outlines.set(id, outline);
    }
    return outlines;
  };
}

type NextPage = (after: number, limit: number) => Promise<SessionEventSlice | undefined>;

/** Sums one page while the next one is read. Undefined when the session can no longer be read. */
async function outlineOf(
  first: SessionEventSlice,
  after: number,
  { pages, ...size }: PartSize,
  next: NextPage,
): Promise<SessionOutline | undefined> {
  const outline = new OutlineBuilder(size, first.events.length);
  let lastId = after;
  let slice = first;
  for (let page = 1; ; page += 1) {
    const { events, isFull } = slice;
    lastId = events.at(-1)?.id ?? lastId;
    const goesOn = isFull && page < pages;
    const [found] = await Promise.all([goesOn ? next(lastId, limitAfter(events)) : undefined, outline.add(events)]);
    if (!goesOn) return { ...outline.parts, lastId: lastId || null, hasMore: isFull };
    if (!found) return undefined;
    slice = found;
  }
}

/** As many events as have about the wanted bytes. A page that ends early for its bytes costs a connection. */
function limitAfter(events: SessionEventSlice['events']): number {
  const bytes = events.reduce((sum, { eventData }) => sum + eventData.length, 0);
  const fitting = Math.floor((WORK.wholeOutlineBytes * events.length) / bytes);
  return Math.max(1, Math.min(WORK.wholeOutlineEvents, fitting));
}
