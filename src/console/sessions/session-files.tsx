import { useEffect, useState } from 'preact/hooks';
import { type Fault, query } from '../parts/api.ts';
import { type DiffLine, editsOf } from './edits.ts';
import { contentOf } from './event-content.ts';
import { counted } from '../parts/amounts.ts';
import { Empty, Faults, Loading } from '../parts/parts.tsx';
import type { Outline } from './session-outline.ts';
import { Changes } from './timeline-body.tsx';

/** The files that the tools of a session have changed, each with all its changes. */

/** Tools whose calls change files, as agents call them. */
const WRITES = /edit|write|create|insert|patch|replace|file_?change/i;
const PAGE = 50;
const MAX_CALLS = 1000;
/** Files with few changes are shown open. */
const FEW_FILES = 5;

interface Change {
  readonly path: string;
  readonly eventId: number;
  readonly lines: readonly DiffLine[];
}

interface Found {
  readonly changes: readonly Change[];
  readonly isComplete: boolean;
  readonly faults: readonly Fault[];
}

interface FilesProps {
  readonly id: string;
  readonly outline: Outline | undefined;
}

export function SessionFiles({ id, outline }: FilesProps) {
  const names = outline?.isComplete
    ? outline.tools.map(({ name }) => name).filter((name) => WRITES.test(name))
    : undefined;
  const { changes, isComplete, faults } = useChanges(id, names);
  const files = Map.groupBy(changes, ({ path }) => path);
  return (
    <div class="files">
      <Faults faults={faults} />
      {!isComplete && faults.length === 0 && <Loading />}
      {isComplete && changes.length === 0 && (
        <Empty>No tool has changed a file. Calls are found some seconds after they were recorded.</Empty>
      )}
      {changes.length > 0 && (
        <p>
          {counted(files.size, 'file')} changed by {counted(changes.length, 'edit')}: <Signs changes={changes} />
        </p>
      )}
      {changes.length >= MAX_CALLS && <p class="soft">The first {MAX_CALLS} edits are shown.</p>}
      {[...files].map(([path, made]) => (
        <File key={path} sessionId={id} path={path} changes={made} isOpen={files.size <= FEW_FILES} />
      ))}
    </div>
  );
}

interface FileProps {
  readonly sessionId: string;
  readonly path: string;
  readonly changes: readonly Change[];
  readonly isOpen: boolean;
}

function File({ sessionId, path, changes, isOpen: isOpenFirst }: FileProps) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  return (
    <details class="file" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{path || 'without a name'}</code> <Signs changes={changes} />
      </summary>
      {isOpen &&
        changes.map(({ eventId, lines }) => (
          <div key={eventId}>
            {Changes({ path: '', lines })}
            <a class="soft" href={`/sessions/${sessionId}#event-${eventId}`}>
              event {eventId}
            </a>
          </div>
        ))}
    </details>
  );
}

function Signs({ changes }: { readonly changes: readonly Change[] }) {
  const count = (sign: DiffLine['sign']) =>
    changes.reduce((sum, { lines }) => sum + lines.filter((line) => line.sign === sign).length, 0);
  return (
    <span class="signs">
      <span class="added">+{count('+')}</span> <span class="removed">−{count('-')}</span>
    </span>
  );
}

const NOTHING: Found = { changes: [], isComplete: false, faults: [] };

/** The changes that calls of these tools have made, found by the names of the tools. */
function useChanges(id: string, names: readonly string[] | undefined): Found {
  const [found, setFound] = useState(NOTHING);
  const key = names?.join('\n');
  useEffect(() => {
    if (names === undefined) return undefined;
    const left = new AbortController();
    setFound(NOTHING);
    const read = async () => {
      for (const name of names) await readCalls(id, name, left.signal, setFound);
      if (!left.signal.aborted) setFound((before) => ({ ...before, isComplete: true }));
    };
    void read();
    return () => left.abort();
  }, [id, key]);
  return found;
}

async function readCalls(
  id: string,
  name: string,
  signal: AbortSignal,
  set: (change: (before: Found) => Found) => void,
): Promise<void> {
  let after: string | null = null;
  for (let count = 0; count < MAX_CALLS; count += PAGE) {
    const filter = { text: `"${name.replaceAll('"', ' ')}"` };
    const answer: Awaited<ReturnType<typeof query<'SessionEdits'>>> = await query(
      'SessionEdits',
      { id, first: PAGE, after, filter },
      { signal },
    );
    if (signal.aborted) return;
    const page = answer.data?.sessionEvents;
    const calls = (page?.nodes ?? []).flatMap((event) => {
      const { toolName, text, itemId } = contentOf(event);
      return toolName === name && text !== null ? [{ eventId: event.databaseId, text, itemId }] : [];
    });
    const failed = await failedOf(
      id,
      calls.flatMap(({ itemId }) => itemId ?? []),
      signal,
    );
    if (signal.aborted) return;
    const changes = calls.flatMap(({ eventId, text, itemId }) =>
      itemId !== null && failed.has(itemId) ? [] : editsOf(name, text).map((edit) => ({ ...edit, eventId })),
    );
    set((before) => ({
      ...before,
      changes: [...before.changes, ...changes]
        .toSorted((one, other) => one.eventId - other.eventId)
        .slice(0, MAX_CALLS),
      faults: answer.faults,
    }));
    if (!page?.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}

/** The calls that failed, which have changed nothing. */
async function failedOf(id: string, itemIds: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  if (itemIds.length === 0) return new Set();
  const { data } = await query('SessionEvents', { id, first: 200, filter: { itemIds, isError: true } }, { signal });
  return new Set((data?.sessionEvents?.nodes ?? []).flatMap((event) => contentOf(event).itemId ?? []));
}
