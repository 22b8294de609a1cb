import { type Socket, connect, createServer } from 'node:net';

/** A TCP proxy to a database that simulates network faults. */
export interface TcpProxy {
  /** The database's URL, through the proxy. */
  readonly url: string;
  /** The number of connections so far. */
  readonly connections: number;
  /** The number of those that are open. */
  readonly open: number;
  /** Sets the target of later connections. */
  setTarget(databaseUrl: string): void;
  /** Delays data to the database by this time. */
  setDelay(ms: number): void;
  /** Resolves when data is sent to the database, even if it is delayed. */
  nextRequest(): Promise<void>;
  /** Drops all data without closing connections. */
  stopForwarding(): void;
  /** Drops what comes back, without closing connections: requests take effect, and their answers are lost. */
  dropAnswers(): void;
  /** Drops the data of new connections after the next `after` ones. */
  stopForwardingNewConnections(options: { readonly after: number }): void;
  resumeForwarding(): void;
  /** Resets all connections and returns their number. */
  cut(): number;
  close(): Promise<void>;
}

export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  let target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let expected = Promise.withResolvers<void>();
  let delayMs = 0;
  /** Connections with a higher number forward no data. */
  let lastForwarded = Infinity;
  let connections = 0;
  let dropsAnswers = false;
  const server = createServer({ noDelay: true }, (client) => {
    connections += 1;
    const database = connect({ port: Number(target.port), host: target.hostname, noDelay: true });
    forward(client, database, () => delayMs);
    client.on('data', () => expected.resolve());
    forward(database, client, () => (dropsAnswers ? Infinity : 0));
  });

  function forward(from: Socket, to: Socket, wait: () => number): void {
    sockets.add(from);
    from.on('data', (bytes) => {
      const ms = wait();
      if (ms === Infinity) return;
      if (ms > 0) setTimeout(() => to.writable && to.write(bytes), ms);
      else to.write(bytes);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    if (connections > lastForwarded) from.pause();
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const through = new URL(databaseUrl);
  through.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const cut = () => {
    const count = sockets.size / 2;
    for (const socket of sockets) socket.resetAndDestroy();
    return count;
  };
  return {
    url: through.href,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size / 2;
    },
    setTarget: (url) => (target = new URL(url)),
    setDelay: (ms) => (delayMs = ms),
    nextRequest() {
      expected = Promise.withResolvers();
      return expected.promise;
    },
    stopForwarding() {
      lastForwarded = 0;
      for (const socket of sockets) socket.pause();
    },
    stopForwardingNewConnections: ({ after }) => (lastForwarded = connections + after),
    dropAnswers: () => (dropsAnswers = true),
    resumeForwarding() {
      lastForwarded = Infinity;
      dropsAnswers = false;
      for (const socket of sockets) socket.resume();
    },
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
