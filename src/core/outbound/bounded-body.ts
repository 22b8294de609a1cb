/** The remaining bytes for all answers of one unit of work. */
export interface Budget {
  left: number;
}

interface Bounds {
  readonly maxBytes: number;
  readonly budget: Budget;
  readonly tooLarge: () => Error;
  readonly explain: (error: unknown) => unknown;
}

/** Returns the response as an instance of the platform's class, which libraries test for, with a bounded body. */
export function boundBody(response: Response, { maxBytes, budget, tooLarge, explain }: Bounds): Response {
  const { status, statusText } = response;
  const headers = new Headers([...response.headers]);
  const announced = Number(headers.get('content-length') ?? 0);
  // The body is already decoded.
  headers.delete('content-encoding');
  headers.delete('content-length');
  const source = response.body?.getReader();
  if (!source) return new Response(null, { status, statusText, headers });
  if (announced > maxBytes) {
    void source.cancel().catch(() => undefined);
    throw tooLarge();
  }
  let bytes = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await source.read();
        if (done) return controller.close();
        bytes += value.byteLength;
        budget.left -= value.byteLength;
        if (bytes > maxBytes || budget.left < 0) throw tooLarge();
        controller.enqueue(value);
      } catch (error) {
        void source.cancel().catch(() => undefined);
        controller.error(explain(error));
      }
    },
    cancel: (reason) => source.cancel(reason),
  });
  return new Response(body, { status, statusText, headers });
}
