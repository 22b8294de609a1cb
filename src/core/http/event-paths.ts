/**
 * The paths of the event API. Existing clients use several families of paths, each with several versions, for the same operations. The first
 * family is the documented one, and the only one in OpenAPI.
 */

const DOCUMENTED_VERSION = '2026-03';
const FIRST_DATED_VERSION = '2025-09';
/** A version is published in March and September of each year; `v3` is the one before them. */
const VERSION = /^(?:v3|20\d\d-0[39])$/;
const VERSIONS = 'v3, 2025-09, 2026-03, 2026-09, and every later 20YY-03 and 20YY-09';

const FAMILIES = [
  ['/events/{version}/event-definitions', '/events/custom/{version}/event-definitions'],
  ['/events/{version}/send', '/events/custom/{version}/send'],
  [
    '/events/event-occurrences/{version}',
    '/events/{version}/events',
    '/events/custom/{version}/events',
    '/events/custom/{version}/event-occurrences',
    '/events/custom/event-occurrences/{version}',
  ],
].map((family) => family.map((template) => template.replace('{version}', DOCUMENTED_VERSION)));

/** The path of an operation in the documented version, and the other paths for it. */
export function pathsOf(path: string): string[] {
  const [first = '', ...others] = FAMILIES.find(([documented = '']) => path.startsWith(documented)) ?? [];
  return [path, ...others.map((other) => other + path.slice(first.length))];
}

/** The version in a path of any family. */
const VERSION_IN_PATH = /^(\/events\/(?:custom\/)?(?:event-occurrences\/)?)([^/]+)/;

/** The same path in the documented version, which has the routes of all versions. `refusal` says why the version is not served. */
export function inDocumentedVersion(path: string): { path: string; refusal: string | undefined } {
  const version = VERSION_IN_PATH.exec(path)?.[2] ?? '';
  return {
    path: path.replace(VERSION_IN_PATH, `$1${DOCUMENTED_VERSION}`),
    refusal: isVersion(version)
      ? undefined
      : `there is no version ${version.slice(0, 100)} of this API; its versions are ${VERSIONS}`,
  };
}

function isVersion(version: string): boolean {
  return VERSION.test(version) && version >= FIRST_DATED_VERSION;
}

/**
 * Whether a path belongs to the event API, whose clients are older than the gateway: it has their form of errors, answers with and without a
 * trailing slash, and ignores query parameters that it does not know.
 */
export function isEventPath(path: string): boolean {
  return path.startsWith('/events/');
}
