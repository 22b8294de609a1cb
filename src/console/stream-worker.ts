import { serve } from './parts/stream-hub.ts';

/** The SharedWorker of all tabs of a browser. */
addEventListener('connect', (event) => {
  // The type of this event is only known to the library of types for workers.
  const [port] = (event as MessageEvent).ports;
  if (port) serve(port);
});
