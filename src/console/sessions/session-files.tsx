import { useEffect, useState } from 'preact/hooks';
import { type Fault, query } from '../parts/api.ts';
import { type DiffLine, editsOf } from './file-diffs.ts';
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
      {isComplete && changes.length === 0 && <Empty>No tool has changed a file.</Empty>}
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
      await readCalls(id, names, left.signal, setFound);
      if (!left.signal.aborted) setFound((before) => ({ ...before, isComplete: true }));
    };
    void read();
    return () => left.abort();
  }, [id, key]);
  return found;
}

async function readCalls(
  id: string,
  names: readonly string[],
  signal: AbortSignal,
  set: (change: (before: Found) => Found) => void,
): Promise<void> {
  let after: string | null = null;
  for (let count = 0; count < MAX_CALLS; count += PAGE) {
    const filter = { toolNames: names, isFailed: false };
    const answer: Awaited<ReturnType<typeof query<'SessionEdits'>>> = await query(
      'SessionEdits',
      { id, first: PAGE, after, filter },
      { signal },
    );
    if (signal.aborted) return;
    const page = answer.data?.session?.entries;
    const changes = (page?.nodes ?? []).flatMap((entry) =>
      entry.__typename === 'ToolCall'
        ? editsOf(entry.toolName, entry.input).map((edit) => ({ ...edit, eventId: Number(entry.databaseId) }))
        : [],
    );
    set((before) => ({
      ...before,
      changes: [...before.changes, ...changes].slice(0, MAX_CALLS),
      faults: answer.faults,
    }));
    if (!page?.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}
