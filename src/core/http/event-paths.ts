/**
 * The paths of the event API. Existing clients use several families of paths, each with several versions, for the same operations. The first
 * family and version are the documented ones, and the only ones in OpenAPI.
 */

const VERSIONS = ['2026-03', 'v3', '2025-09', '2026-09'] as const;

const FAMILIES = {
  definitions: ['/events/{version}/event-definitions', '/events/custom/{version}/event-definitions'],
  sending: ['/events/{version}/send', '/events/custom/{version}/send'],
  reading: [
    '/events/event-occurrences/{version}',
    '/events/{version}/events',
    '/events/custom/{version}/events',
    '/events/custom/{version}/event-occurrences',
    '/events/custom/event-occurrences/{version}',
  ],
} as const;

/** The path of an operation, and the other paths for it. */
export function pathsOf(family: keyof typeof FAMILIES, below = ''): { path: string; aliases: string[] } {
  const all = FAMILIES[family].flatMap((template) =>
    VERSIONS.map((version) => template.replace('{version}', version) + below),
  );
  const [path = '', ...aliases] = all;
  return { path, aliases };
}

/**
 * Whether a path belongs to the event API, whose clients are older than the gateway: it has their form of errors, answers with and without a
 * trailing slash, and ignores query parameters that it does not know.
 */
export function isEventPath(path: string): boolean {
  return path.startsWith('/events/');
}
