/** One event of a session, as `GET /v1/sessions/{sessionId}/events` answers it. */
export interface SessionEvent {
  readonly id: number;
  readonly eventType: string;
  readonly eventData: { readonly type: string };
}

/** Each event of a session, once: stored events, then new ones, across lost connections and restarts, until the session is finished. */
export async function* liveTail(baseUrl: string, key: string, sessionId: string): AsyncGenerator<SessionEvent> {
  let lastEventId = '0';
  for (let failures = 0; ; failures += 1) {
    try {
      const response = await fetch(`${baseUrl}/v1/sessions/${sessionId}/events`, {
        headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Last-Event-ID': lastEventId },
      });
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        throw new Refused(await response.text());
      if (response.ok && response.body) {
        for await (const { id, event, data } of messagesOf(response.body)) {
          if (event === 'end') return;
          if (event === 'error') throw new Refused(data);
          failures = 0;
          yield JSON.parse(data) as SessionEvent;
          lastEventId = id;
        }
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(30_000, 250 * 2 ** failures)));
  }
}

class Refused extends Error {}

/** Server-sent events of a body (WHATWG HTML, section 9.2). */
export async function* messagesOf(body: ReadableStream<Uint8Array>) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream() as never) as ReadableStream<string>) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => line.match(/^(\w*): ?(.*)$/)?.slice(1) as [string, string]),
      );
      const data = fields.get('data');
      if (data !== undefined) yield { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data };
    }
  }
}
