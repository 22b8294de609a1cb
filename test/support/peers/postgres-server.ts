import { type Socket, createServer } from 'node:net';

/** A message of the protocol of PostgreSQL: its type, its length, its content. */
export function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(type), length, content]);
}

const READY = message('Z', Buffer.from('I'));
/** The login succeeds, and the server is ready for statements. */
export const WELCOME = Buffer.concat([message('R', Buffer.alloc(4)), READY]);
/** The result of a statement: no rows. */
export const NO_ROWS = Buffer.concat([message('C', Buffer.from('SELECT 0\0')), READY]);

/** A server that reacts to what each connection sends first, and to each statement that it sends later. */
export async function startPostgresServer(
  onFirst: (socket: Socket) => void,
  onStatement: (socket: Socket) => void = () => undefined,
) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      onFirst(socket);
      socket.on('data', (data) => {
        if (data.toString('latin1', 0, 1) === 'Q') onStatement(socket);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, close: () => server.close() };
}
