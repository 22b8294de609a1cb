/**
 * The events of a subscription, which ends with their reader. Yoga's own stream fails when it is given up before its first event is read, and
 * that failure would end the process.
 */
export function subscriptionBody(
  stream: AsyncIterable<Uint8Array>,
  gone: AbortController | undefined,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = stream[Symbol.asyncIterator]();
      let isBegun = false;
      return {
        next() {
          isBegun = true;
          return chunks.next();
        },
        async return(value?: unknown) {
          gone?.abort();
          if (isBegun) await chunks.return?.();
          return { done: true, value };
        },
      };
    },
  };
}
