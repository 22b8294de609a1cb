import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { Listener } from './listener.ts';

/** A received message. Its signature is valid under the secret of the receiver, or of one of its secrets. */
export interface ReceivedMessage {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: { readonly id?: number; readonly subjectId?: string; readonly [name: string]: unknown };
  readonly headers: IncomingHttpHeaders;
}

type Answer = (message: ReceivedMessage, response: ServerResponse) => void;

/** A receiver of webhooks on loopback, which checks signatures with the package of Standard Webhooks. */
export class WebhookReceiver {
  readonly received: ReceivedMessage[] = [];
  /** Requests whose signature is not valid. */
  readonly refused: string[] = [];
  /** The greatest number of requests at once. */
  mostAtOnce = 0;
  secret = '';
  /** Whether the clock of the gateway is stopped. The package checks the time of a message, which is another one then. */
  isAnyTime = false;
  answer: Answer = (_, response) => response.writeHead(204).end();
  readonly #listener = new Listener();
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  #open = 0;

  async start(): Promise<this> {
    this.#listener.handler = (request, response) => void this.#receive(request, response);
    await this.#listener.start();
    return this;
  }

  get url(): string {
    return `${this.#listener.url}/hook`;
  }

  get connectionCount(): number {
    return this.#listener.connectionCount;
  }

  /** Resolves when this many messages have arrived. */
  async arrived(count: number): Promise<readonly ReceivedMessage[]> {
    if (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
    return this.received;
  }

  stop(): Promise<void> {
    return this.#listener.stop();
  }

  #verify(body: string, headers: Record<string, string>): unknown {
    const webhook = new Webhook(this.secret);
    if (!this.isAnyTime) return webhook.verify(body, headers);
    const at = new Date(Number(headers['webhook-timestamp']) * 1000);
    const signature = webhook.sign(headers['webhook-id'] ?? '', at, body);
    if (headers['webhook-signature']?.split(' ').includes(signature) !== true) throw new Error('no signature matches');
    return JSON.parse(body);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#open += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#open);
    response.on('close', () => (this.#open -= 1));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    try {
      const headers = request.headers as Record<string, string>;
      const content = this.#verify(body, headers) as Omit<ReceivedMessage, 'id' | 'headers'>;
      const message = { ...content, id: headers['webhook-id'] ?? '', headers: request.headers };
      this.received.push(message);
      this.answer(message, response);
    } catch (error) {
      this.refused.push(String(error));
      response.writeHead(401).end();
    }
    for (const { count, resolve } of this.#waiting) if (this.received.length >= count) resolve();
  }
}
