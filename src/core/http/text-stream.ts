const encoder = new TextEncoder();

/**
 * A stream of texts with backpressure: a reader that does not read stops the source after one part. `onCancel` is called when the reader
 * has left. An error of the source ends the connection, so that an incomplete text is not taken for a complete one.
 */
export function textStream(parts: AsyncIterator<string, unknown>, onCancel: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await parts.next();
            if (done === true) return controller.close();
            if (value === '') continue;
            return controller.enqueue(encoder.encode(value));
          }
        } catch (error) {
          controller.error(error);
        }
      },
      cancel() {
        onCancel();
        void parts.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
