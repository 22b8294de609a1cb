// A small shop that sends its events with the functions of events.ts, which `plan types tracking-plan.yaml` has printed.
//
//   GATEWAY=http://127.0.0.1:4000 KEY=wgk_... node_modules/.bin/node docs/examples/shop/shop.ts
//
// GATEWAY  address of the gateway
// KEY      API key with the scope analytics.behavioral_events.send
// PORT     port of the shop (default 8080)
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { createEvents } from './events.ts';

const { GATEWAY = 'http://127.0.0.1:4000', KEY = '', PORT = '8080' } = process.env;

const PRODUCTS = [
  { id: 'mug-blue', name: 'Blue mug', price: 12.5 },
  { id: 'tea-green', name: 'Green tea', price: 6.9 },
];

const { events, flush } = createEvents({
  gateway: GATEWAY,
  key: KEY,
  onError: (error, occurrences) => process.stderr.write(`${occurrences.length} occurrences lost: ${error.message}\n`),
});

interface Order {
  readonly email: string;
  readonly productIds: readonly string[];
}

let orders = 0;

function showProduct(id: string, visitor: string): object | undefined {
  const product = PRODUCTS.find((each) => each.id === id);
  if (product)
    events.product_viewed(
      { product_id: product.id, product_name: product.name, price_minor: Math.round(product.price * 100) },
      { utk: visitor },
    );
  return product;
}

function placeOrder({ email, productIds }: Order): object {
  const bought = productIds.flatMap((id) => PRODUCTS.filter((product) => product.id === id));
  const total = bought.reduce((sum, { price }) => sum + price, 0);
  const orderId = `A${(orders += 1)}`;
  for (const { id, name, price } of bought)
    events.product_added({ product_id: id, product_name: name, price_minor: Math.round(price * 100) }, { email });
  events.order_completed({ order_id: orderId, total_minor: Math.round(total * 100) }, { objectId: orderId });
  return { orderId, total };
}

const server = createServer((request, response) => {
  const answer = (status: number, body: unknown) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  const [, page = '', id = ''] = (request.url ?? '').split('/');
  if (request.method === 'GET' && page === 'products') {
    const product = showProduct(id, 'visitor-1');
    answer(product ? 200 : 404, product ?? { error: 'no such product' });
  } else if (request.method === 'POST' && page === 'orders') {
    json(request).then(
      (order) => answer(201, placeOrder(order as Order)),
      () => answer(400, { error: 'an order is JSON' }),
    );
  } else answer(404, { error: 'no such page' });
});

server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`the shop is at http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}\n`);
});

// What waits is sent before the shop ends.
process.once('SIGTERM', () => {
  server.close();
  void flush().then(() => process.exit(0));
});
