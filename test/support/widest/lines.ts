import { FORMAT_NAMES, type FormatName } from '../../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES } from '../fixtures/agent-lines.ts';
import type { WideRequest } from './contract.ts';
import { placesOf, shapeOfValue } from './places.ts';

/** Lines of every agent format, widened: each kind of line that the format's sample has. */

const common = (format: FormatName, sessionId: string) => ({
  method: 'POST',
  path: `/v1/sessions/${sessionId}/events`,
  type: `application/x-ndjson; format=${format}`,
  accept: 'application/json',
});

const MEMBER_TYPE = /"type":"[^"]*"/g;

/** The lines of a format that differ in their types and those of their parts. */
function distinctLines(format: FormatName): ReadonlyMap<string, object> {
  const found = new Map<string, object>();
  for (const line of AGENT_LINES[format]) {
    if (!line.startsWith('{')) continue;
    const types = [...line.matchAll(MEMBER_TYPE)].map(([type]) => type.slice('"type":"'.length, -1)).join(' ');
    if (!found.has(types)) found.set(types, JSON.parse(line) as object);
  }
  return found;
}

export interface LineRequest extends WideRequest {
  readonly format: FormatName;
}

/** A request with one line, which is widened. */
export const lineRequests = (sessionId: string): LineRequest[] =>
  FORMAT_NAMES.flatMap((format) =>
    [...distinctLines(format)].map(([types, line]) => ({
      ...common(format, sessionId),
      operation: `a line of ${format} (${types})`,
      format,
      sample: JSON.stringify(line),
      bodyOf: (input) => input,
      places: () => placesOf(line, shapeOfValue(line)),
    })),
  );

/** A little less than a format remembers of a text. */
const LONG = JSON.stringify('\u0001'.repeat(119_000));

/** Texts that name something. */
const NAMES = /(?:^|[._])(?:type|role|model|name|status|id|uuid|version)$/;

const textsOf = (request: LineRequest) =>
  [...request.places()].filter(({ takes, path }) => takes.includes('text') && !NAMES.test(path));

/** Requests with many lines: each line of a format after one with a long text, and lines of other kinds. */
export function manyLines(
  sessionId: string,
  count: number,
): { readonly request: LineRequest; readonly body: string }[] {
  const requests = lineRequests(sessionId);
  const repeated = requests.flatMap((request) =>
    textsOf(request).map(({ path, fill }) => ({
      request: { ...request, operation: `${request.operation} ${path}` },
      body: [fill(LONG), ...Array<string>(count).fill(request.sample)].join('\n'),
    })),
  );
  const odd = ['a', '{}', ' ', '[]', '\u0001', '{"type":"a"}', '"'].flatMap((line) => {
    const [request] = requests;
    const operation = `lines like ${JSON.stringify(line)}`;
    return request ? [{ request: { ...request, operation }, body: Array(9_999).fill(line).join('\n') }] : [];
  });
  return [...repeated, ...odd];
}
