// Preloaded into a program of others: its servers listen only on loopback. Patches the internal function below
// `listen`, because `listen` with an address resolves it first, and the program reads its port before that.
import { Server } from 'node:net';

interface Listening {
  _listen2: (this: Listening, address: string | null, port: number, addressType: number, ...rest: unknown[]) => void;
}

const prototype = Server.prototype as unknown as Listening;
const open = prototype._listen2;
prototype._listen2 = function listenOnLoopback(address, port, addressType, ...rest) {
  if (address === null && port >= 0) open.call(this, '127.0.0.1', port, 4, ...rest);
  else open.call(this, address, port, addressType, ...rest);
};
