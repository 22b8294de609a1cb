// A receiver with Node.js and the package of Standard Webhooks: npm install standardwebhooks
// WEBHOOK_SECRET=whsec_… PORT=8080 node_modules/.bin/node docs/examples/webhooks/receiver.ts
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const secret = process.env['WEBHOOK_SECRET'] ?? '';
// With an empty or damaged secret, messages of anybody would be valid.
if (!/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret)) {
  console.error('WEBHOOK_SECRET: must be the secret of the webhook, whsec_ and at least 24 bytes in base64');
  process.exit(1);
}
const webhook = new Webhook(secret);
/** The ids of messages that were handled. Keep them in your database, in the transaction that handles the message. */
const handled = new Set<string>();

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  try {
    // Checks the signature and the time, of the body exactly as it arrived.
    webhook.verify(body, request.headers as Record<string, string>);
  } catch {
    response.writeHead(400).end('the signature is not valid');
    return;
  }
  const id = String(request.headers['webhook-id']);
  if (!handled.has(id)) {
    handled.add(id);
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    console.log(type, JSON.stringify(data));
  }
  // Answer at once, and do what takes long afterwards.
  response.writeHead(204).end();
}

const server = createServer((request, response) => void receive(request, response));
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => console.log('ready', server.address()));
