import { useEffect, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { run } from '../parts/api.ts';
import { type EventContent, contentOf } from './event-content.ts';
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

interface EventJsonProps {
  readonly sessionId: string;
  readonly from: number;
  readonly to: number;
}

/** The first event of an item as it was recorded, and on demand the last one, which has the complete text. */
export function EventJson({ sessionId, from, to }: EventJsonProps) {
  const [id, setId] = useState(from);
  const [text, setText] = useState<string>();
  useEffect(() => {
    void load(sessionId, id).then((found) => setText(typeof found === 'string' ? found : jsonText(found)));
  }, [sessionId, id]);
  const other = id === from ? to : from;
  return (
    <div class="raw">
      {text !== undefined && (
        <pre tabindex={0} aria-label={`Event ${id} as it was recorded`}>
          {text}
        </pre>
      )}
      {to !== from && (
        <button class="link" onClick={() => setId(other)}>
          {other === to ? 'last' : 'first'}: event {other}
        </button>
      )}
    </div>
  );
}

interface WholeTextProps {
  readonly sessionId: string;
  readonly ids: readonly number[];
}

/** A button that loads the texts of an item, of which only the beginning is shown. */
export function WholeText({ sessionId, ids }: WholeTextProps) {
  const [texts, setTexts] = useState<readonly string[]>();
  const show = async () => {
    const found = await Promise.all([...new Set(ids)].map((id) => load(sessionId, id)));
    setTexts(
      found.flatMap((event) =>
        typeof event === 'string' ? [event] : textsOf(contentOf({ ...event, messageId: null })),
      ),
    );
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

function textsOf({ text, toolResult, message }: EventContent): readonly string[] {
  const texts = [text, toolResult?.output].filter((each) => typeof each === 'string' && each !== '');
  return texts.length > 0 ? (texts as string[]) : [message ?? ''];
}
