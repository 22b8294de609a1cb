// Loaded before a program that others wrote: what it would open to every network listens on loopback alone. It asks for the port at once,
// and an address given to `listen` would be looked up first; so this is done one step further down.
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
