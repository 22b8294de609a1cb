import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { run } from '../parts/api.ts';
import type { Answers } from '../generated/operation-types.ts';

/** Single events, loaded whole when the reader asks for them. */

type Recorded = NonNullable<Answers['SessionEventJson']['sessionEvents']>['nodes'][number];

async function load(sessionId: string, id: number): Promise<Recorded | string> {
  const { data, faults } = await run('SessionEventJson', { id: sessionId, after: String(id - 1) });
  const event = data?.sessionEvents?.nodes[0];
  if (event?.databaseId === id) return event;
  return faults[0]?.message ?? 'The event was deleted.';
}

const jsonText = ({ databaseId: id, eventDataJson: eventData, ...fields }: Recorded): string =>
  JSON.stringify({ id, ...fields, eventData }, null, 2);

/** The ids of the events of an entry. */
export async function eventIdsOf(sessionId: string, entryId: number): Promise<readonly number[]> {
  let ids: readonly number[] = [];
  for (let after: string | null = null, hasMore = true; hasMore;) {
    const answer: Awaited<ReturnType<typeof run<'SessionEntryEvents'>>> = await run('SessionEntryEvents', {
      id: sessionId,
      entryId: String(entryId),
      after,
    });
    const page = answer.data?.session?.entry?.events;
    ids = ids.concat((page?.nodes ?? []).map(({ databaseId }) => databaseId));
    after = page?.pageInfo.endCursor ?? null;
    hasMore = page?.pageInfo.hasNextPage ?? false;
  }
  return ids;
}

interface EntryProps {
  readonly sessionId: string;
  readonly entryId: number;
}

/** The first event of an entry as it was recorded, and on demand the last one. */
export function EventJson({ sessionId, entryId }: EntryProps) {
  const [id, setId] = useState(entryId);
  const [last, setLast] = useState(entryId);
  const [text, setText] = useState<string>();
  useEffect(() => {
    void eventIdsOf(sessionId, entryId).then((ids) => setLast(ids.at(-1) ?? entryId));
  }, [sessionId, entryId]);
  useEffect(() => {
    void load(sessionId, id).then((found) => setText(typeof found === 'string' ? found : jsonText(found)));
  }, [sessionId, id]);
  const other = id === entryId ? last : entryId;
  return (
    <div class="raw">
      {text !== undefined && (
        <pre tabindex={0} aria-label={`Event ${id} as it was recorded`}>
          {text}
        </pre>
      )}
      {last !== entryId && (
        <button class="link" onClick={() => setId(other)}>
          {other === last ? 'last' : 'first'}: event {other}
        </button>
      )}
    </div>
  );
}

/** A button that loads the texts of an entry, of which only the beginning is shown. */
export function WholeText({ sessionId, entryId }: EntryProps) {
  const [texts, setTexts] = useState<readonly string[]>();
  const show = async () => {
    const { data, faults } = await run('SessionEntry', { id: sessionId, entryId: String(entryId) });
    const entry = data?.session?.entry;
    if (!entry) setTexts([faults[0]?.message ?? 'The entry was deleted.']);
    else setTexts(entry.__typename === 'ToolCall' ? [entry.input, entry.output].filter(Boolean) : [entry.text]);
  };
  if (texts)
    return (
      <div>
        {texts.map((text) => (
          <pre tabindex={0} aria-label="The whole text">
            {text}
          </pre>
        ))}
      </div>
    );
  return (
    <p class="soft">
      Only the beginning is shown. <Button onClick={() => void show()}>Show the whole text</Button>
    </p>
  );
}
