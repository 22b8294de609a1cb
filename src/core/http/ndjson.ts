import type { OperationContext } from '../operation.ts';
import { type HttpAnswer, answerWith } from './messages.ts';

export const NDJSON_TYPE = 'application/x-ndjson';
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

/** Rows of a file in their order, in batches. */
export type Batches<Row> = AsyncGenerator<readonly Row[], void, undefined>;

/** For OpenAPI. */
export const FILE_NAME_HEADER = {
  'Content-Disposition': { description: 'A file name for browsers (RFC 6266).', schema: { type: 'string' } },
};

export function ndjsonHeaders(name: string) {
  return {
    'Content-Type': `${NDJSON_TYPE}; charset=utf-8`,
    'Content-Disposition': `attachment; filename="${name}.ndjson"`,
  };
}

/** A file with a row on each line. `onLeave` is called when the client leaves before its end. */
export function ndjsonFile<Row>(
  context: OperationContext,
  {
    name,
    batches,
    toLine,
    headers = ndjsonHeaders(name),
    onLeave,
  }: {
    readonly name: string;
    readonly batches: Batches<Row>;
    /** Without the end of the line. */
    readonly toLine: (row: Row) => string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly onLeave?: () => void;
  },
): HttpAnswer {
  const leave = () => {
    context.budget.close();
    onLeave?.();
  };
  return answerWith(textStream(textsOf(context, batches, toLine), leave), { headers });
}

async function* textsOf<Row>(context: OperationContext, batches: Batches<Row>, toLine: (row: Row) => string) {
  try {
    for await (const rows of batches) {
      // Nothing is held while the client reads.
      context.budget.renew();
      yield rows.map((row) => `${toLine(row)}\n`).join('');
    }
  } finally {
    context.budget.close();
  }
}
