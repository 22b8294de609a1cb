/** Options of a `DataLoader` that collects what is asked for in one iteration of the event loop, and sends it after the last of it has arrived. */
export const BATCH_PER_TICK = { cache: false, batchScheduleFn: (send: () => void) => void setImmediate(send) };
