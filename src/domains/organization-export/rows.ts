import { requireOrganization } from '../../core/access.ts';
import { type NextPage, pagesOf } from '../../core/exported-pages.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Order, Page, PageArguments } from '../../core/postgres/reading/keyset.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { WORK } from '../../core/work-budget.ts';
import { API_KEYS, apiKeyAnswer } from '../api-keys/public.ts';
import { AUDIT_ENTRIES } from '../audit-log/public.ts';
import { DEFINITIONS, customPropertiesOf, fullyQualifiedName } from '../event-definitions/public.ts';
import { IDENTIFIERS, pagesOfOccurrences } from '../event-occurrences/public.ts';
import { MCP_CONNECTIONS, connectionAnswer } from '../mcp-connections/public.ts';
import { MEMBERS } from '../memberships/public.ts';
import { findSlice } from '../session-events/public.ts';
import { ARTIFACTS, PROJECTS, PULL_REQUESTS, SESSIONS, type SessionRow, stateFlags } from '../sessions/public.ts';
import { WEBHOOKS, webhookAnswer } from '../webhooks/public.ts';

/** Reads everything of an organization that an administrator can read, page by page: one page is in memory. */

export const KINDS = [
  'member',
  'project',
  'session',
  'artifact',
  'pullRequest',
  'sessionEvent',
  'mcpConnection',
  'eventDefinition',
  'eventOccurrence',
  'objectIdentifier',
  'webhook',
  'apiKey',
  'auditEntry',
] as const;
type Kind = (typeof KINDS)[number];

/** A line of the file. */
export type Line = { readonly kind: Kind } & object;
type Lines = AsyncGenerator<readonly Line[], void, undefined>;

const linesOf = (kind: Kind, rows: readonly object[]): Line[] => rows.map((row) => ({ kind, ...row }));

/** A list that is exported as its rows are. */
interface Plain {
  page(
    context: OperationContext,
    asked: { readonly filter: object; readonly order: Order<never>; readonly page: PageArguments },
  ): Promise<Page<object>>;
}

async function* plain(next: NextPage, kind: Kind, list: object, field: string): Lines {
  // The lists have different fields and filters. Each is given one that it has.
  const order = { field, direction: 'ASC' } as Order<never>;
  for await (const rows of pagesOf(next, (context, page) => (list as Plain).page(context, { filter: {}, order, page })))
    yield linesOf(kind, rows);
}

/** A list whose rows are exported as REST answers them. */
async function* asShown<Row>(
  next: NextPage,
  kind: Kind,
  read: (context: OperationContext, page: PageArguments) => Promise<Page<Row>>,
  answerOf: (row: Row) => object,
): Lines {
  for await (const rows of pagesOf(next, read)) yield linesOf(kind, rows.map(answerOf));
}

export async function* allLines({ actor }: OperationContext, next: NextPage): Lines {
  const organization = requireOrganization(actor);
  yield* plain(next, 'member', MEMBERS, 'JOINED_AT');
  yield* plain(next, 'project', PROJECTS, 'CREATED_AT');
  yield* sessions(next);
  yield* asShown(
    next,
    'mcpConnection',
    (context, page) => MCP_CONNECTIONS.page(context, { filter: {}, order: BY_CREATION, page }),
    connectionAnswer,
  );
  yield* definitions(next);
  yield* plain(next, 'objectIdentifier', IDENTIFIERS, 'CREATED_AT');
  yield* asShown(
    next,
    'webhook',
    (context, page) => WEBHOOKS.page(context, { filter: {}, order: BY_CREATION, page }),
    webhookAnswer,
  );
  const ofOrganization = { kind: 'KEY' as const, organizationId: organization.id };
  yield* asShown(
    next,
    'apiKey',
    (context, page) => API_KEYS.page(context, { filter: ofOrganization, order: BY_CREATION, page }),
    apiKeyAnswer,
  );
  yield* plain(next, 'auditEntry', AUDIT_ENTRIES, 'OCCURRED_AT');
}

const BY_CREATION = { field: 'CREATED_AT', direction: 'ASC' } as const;

/** Each session, followed by what belongs to it. */
async function* sessions(next: NextPage): Lines {
  const pages = pagesOf(next, (context, page) => SESSIONS.page(context, { filter: {}, order: BY_CREATION, page }));
  for await (const rows of pages)
    for (const session of rows) {
      yield linesOf('session', [sessionLineOf(session)]);
      yield* results(next, session);
      yield* events(next, session);
    }
}

async function* results(next: NextPage, { id }: SessionRow): Lines {
  const list = { filter: {}, order: BY_CREATION };
  const artifacts = pagesOf(next, async (context, page) =>
    pageIn(await ARTIFACTS.pagesBelow(context, { ...list, page })([id]), id),
  );
  for await (const rows of artifacts) {
    yield linesOf('artifact', rows.map(withoutPlace));
    for (const artifact of rows) {
      const pullRequests = pagesOf(next, async (context, page) =>
        pageIn(await PULL_REQUESTS.pagesBelow(context, { ...list, page })([artifact.id]), artifact.id),
      );
      for await (const found of pullRequests) yield linesOf('pullRequest', found.map(withoutPlace));
    }
  }
}

async function* events(next: NextPage, { id }: SessionRow): Lines {
  for (let after = 0; ;) {
    const slice = await findSlice(
      await next(),
      id,
      {},
      { after, limit: WORK.exportedRows, maxBytes: WORK.exportedBytes },
    );
    const last = slice?.events.at(-1);
    // The session may have been deleted meanwhile.
    if (!slice || !last) return;
    yield slice.events.map(({ eventData, ...event }) => ({
      kind: 'sessionEvent',
      ...event,
      eventData: parseExactJson(eventData),
    }));
    after = last.id;
  }
}

/** As GraphQL answers it. Its own kind has another name here, because each line has a kind. */
function sessionLineOf({ kind: sessionKind, state, source, holdReason, heldById, heldAt, ...row }: SessionRow): object {
  const hold = heldAt === null ? null : { reason: holdReason, heldBy: heldById, heldAt };
  return { ...row, sessionKind, state: stateFlags(state), sessionSource: source, hold };
}

/** Each definition with its properties, followed by its occurrences. */
async function* definitions(next: NextPage): Lines {
  const pages = pagesOf(next, (context, page) => DEFINITIONS.page(context, { filter: {}, order: BY_CREATION, page }));
  for await (const rows of pages) {
    const context = await next();
    const properties = await customPropertiesOf(context)(rows.map(({ id }) => id));
    for (const definition of rows) {
      const eventType = fullyQualifiedName(definition, requireOrganization(context.actor));
      const own = { ...definition, fullyQualifiedName: eventType, properties: properties.get(definition.id) ?? [] };
      yield linesOf('eventDefinition', [own]);
      const occurrences = pagesOf(next, async (current, page) =>
        pageIn(
          await pagesOfOccurrences(current, { filter: {}, direction: 'ASC', page })([definition.id]),
          definition.id,
        ),
      );
      for await (const found of occurrences)
        yield found.map(({ id, objectId, email, utk, uuid, occurredAt, receivedAt, properties: values }) => ({
          kind: 'eventOccurrence',
          id,
          eventType,
          objectType: definition.primaryObject,
          objectId,
          email,
          utk,
          uuid,
          occurredAt,
          receivedAt,
          properties: parseExactJson(values),
        }));
    }
  }
}

/** A row of a list below another object also has what identifies it in the statement. */
function withoutPlace(row: object): object {
  const { parentId: _parentId, place: _place, ...shown } = row as Readonly<Record<string, unknown>>;
  return shown;
}

/** The page of a parent; an empty one if it was deleted meanwhile. */
function pageIn<Key, Row>(pages: ReadonlyMap<Key, Page<Row>>, key: Key): Page<Row> {
  return pages.get(key) ?? { rows: [], hasNextPage: false, hasPreviousPage: false, cursorOf: () => '' };
}
