import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { run } from '../parts/api.ts';
import { fieldsOf, jsonOf } from './event-content.ts';

/** Pictures in the lines of agents. They are shown from their bytes in the event: nothing is loaded from elsewhere. */

/** Types that can run no script. */
const TYPES = /^image\/(?:png|jpeg|gif|webp)$/;
const MAX_BASE64 = 4 * 1024 * 1024;
const MAX_PICTURES = 4;
const MAX_DEPTH = 12;
/** The line of an agent is in the first of its events, which can be some before that of the picture. */
const EARLIER_EVENTS = 3;

interface Props {
  readonly sessionId: string;
  readonly eventId: number;
  /** Whether it is the result of a call: its line can have those of others, too. */
  readonly isOfCall: boolean;
}

export function Pictures({ sessionId, eventId, isOfCall }: Props) {
  const [found, setFound] = useState<readonly string[]>();
  const [isBroken, setBroken] = useState(false);
  const show = async () => {
    let callId: string | null = null;
    for (let id = eventId; id > Math.max(0, eventId - EARLIER_EVENTS); id--) {
      const { data } = await run('SessionEventJson', { id: sessionId, after: String(id - 1) });
      const recorded = fieldsOf(data?.sessionEvents?.nodes[0]?.eventDataJson);
      const { itemId } = recorded;
      if (isOfCall && typeof itemId === 'string') callId ??= itemId;
      const pictures = picturesIn(recorded, callId);
      if (pictures.length > 0) return setFound(pictures);
    }
    setFound([]);
  };
  if (found === undefined)
    return (
      <p>
        <Button onClick={() => void show()}>Show the picture</Button>
      </p>
    );
  if (isBroken || found.length === 0)
    return (
      <p class="soft" role="status">
        The picture cannot be shown.
      </p>
    );
  return (
    <div class="pictures">
      {found.map((src, index) => (
        <img key={index} src={src} alt={`Picture ${index + 1} of event ${eventId}`} onError={() => setBroken(true)} />
      ))}
    </div>
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** The pictures of an event, as addresses that have their bytes. Of a line with several results those of the call. */
export function picturesIn(data: Fields, callId: string | null): readonly string[] {
  const found: string[] = [];
  const look = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH || found.length >= MAX_PICTURES || typeof value !== 'object' || value === null) return;
    const fields = value as Fields;
    const of = fields['tool_use_id'] ?? fields['call_id'];
    if (callId !== null && typeof of === 'string' && of !== callId) return;
    const address = pictureOf(fields);
    if (address !== undefined) found.push(address);
    else for (const part of Object.values(fields)) look(part, depth + 1);
  };
  const message = fieldsOf(data['event'])['message'];
  look(typeof message === 'string' ? jsonOf(message) : undefined, 0);
  return found;
}

/** A block of a message with a picture: of the Messages API, of MCP, or of the Responses API. */
function pictureOf({ type, source, data, mimeType, image_url: url }: Fields): string | undefined {
  if (type === 'input_image' && typeof url === 'string') {
    const [, mime = '', bytes = ''] = /^data:([\w/+.-]+);base64,(.*)$/s.exec(url.slice(0, MAX_BASE64 + 100)) ?? [];
    return addressOf(mime, bytes);
  }
  if (type !== 'image') return undefined;
  const { media_type: mime, data: bytes } = fieldsOf(source);
  return addressOf(mime ?? mimeType, bytes ?? data);
}

function addressOf(type: unknown, bytes: unknown): string | undefined {
  if (typeof type !== 'string' || typeof bytes !== 'string' || !TYPES.test(type)) return undefined;
  return bytes.length <= MAX_BASE64 && /^[\w+/=\s-]+$/.test(bytes) ? `data:${type};base64,${bytes}` : undefined;
}
