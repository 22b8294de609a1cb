// The import rules (docs/architecture.md), checked for every file of src by its folder, not only by its name.
import { posix } from 'node:path';

export interface Import {
  readonly from: string;
  /** A file of the repository, or a package. */
  readonly to: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

const LAYERS = ['core', 'domains', 'gateway', 'operator', 'entry'];
const FROM_CLAUSE =
  /^(?:import|export)\s+(?<typeOnly>type\s)?[^'"`;]*?from\s+'(?<path>[^']+)'|^import\s+'(?<bare>[^']+)'|\bimport\('(?<dynamic>[^']+)'\)/gm;

/** The imports of one file, type imports included. */
export function importsOf(from: string, text: string): Import[] {
  return [...text.matchAll(FROM_CLAUSE)].map((match) => {
    const { typeOnly, path, bare, dynamic } = match.groups ?? {};
    const to = path ?? bare ?? dynamic ?? '';
    return {
      from,
      to: to.startsWith('.') ? posix.join(posix.dirname(from), to) : to,
      typeOnly:
        typeOnly !== undefined || (path !== undefined && /^import\s*\{(?:\s*type\s[^,}]+,?)+\s*\}/.test(match[0])),
      line: text.slice(0, match.index).split('\n').length,
    };
  });
}

/** What the recorder has of the gateway. These files import nothing else. */
const RECORDER_USES = new Set([
  'src/core/text/wording.ts',
  ...['names', 'recognition'].map((name) => `src/domains/session-events/formats/${name}.ts`),
]);

const inSource = (path: string) => path.startsWith('src/');
const isFile = (path: string) => /\.(?:tsx?|mjs)$/.test(path) && path.includes('/');
const partOf = (path: string) => path.split('/')[1] ?? '';
const layerOf = (path: string) => (/^src\/[^/]+\.ts$/.test(path) ? 'entry' : partOf(path));
const nounOf = (path: string) => /^src\/domains\/([^/]+)\//.exec(path)?.[1];
const folderOf = (path: string) => /^src\/gateway\/([^/]+)\//.exec(path)?.[1];
const isGraphQL = (path: string) => /^src\/domains\/[^/]+\/graphql(?:\.ts|\/)/.test(path);
const isRest = (path: string) => /^src\/domains\/[^/]+\/rest(?:-[a-z-]+)?\.ts$/.test(path);
const isDatabase = (to: string) => /^(?:pg|kysely)$|^@mikro-orm\/|^src\/core\/postgres\//.test(to);
const isGraphQLLibrary = (to: string) => /^graphql(?:-yoga)?$|^@pothos\/|^src\/core\/graphql\//.test(to);
const isHttp = (to: string) => /^node:https?$|^src\/core\/http\//.test(to);

/** The fault of an import; undefined if there is none. */
export function faultOf({ from, to, typeOnly }: Import): string | undefined {
  if (isFile(to) && !inSource(to)) return 'Nothing imports out of src.';
  const layer = layerOf(from);
  if (layer === 'graphql-executor') {
    const isOwn = to.startsWith('src/graphql-executor/') || ['graphql', 'lru-cache'].includes(to);
    return isOwn ? undefined : 'The executor imports graphql and lru-cache alone.';
  }
  if (layer === 'console')
    return to.startsWith('src/console/') || !isFile(to) ? undefined : 'The console uses the public API alone.';
  if (layer === 'recorder') {
    const isKnown = to.startsWith('src/recorder/') || RECORDER_USES.has(to) || to.startsWith('node:');
    return isKnown ? undefined : 'The recorder is one file: it imports the tables of the formats alone.';
  }
  if (inSource(to)) {
    const target = layerOf(to);
    if (target === 'graphql-executor') return layer === 'gateway' ? undefined : 'Only the gateway uses the executor.';
    if (target === 'console') return 'The console is served, not imported.';
    if (LAYERS.indexOf(target) > LAYERS.indexOf(layer)) return `${layer} imports nothing of the layers above it.`;
  }
  if (
    nounOf(to) !== undefined &&
    layer !== 'domains' &&
    !/\/(?:public|module)\.ts$/.test(to) &&
    !isGraphQL(to) &&
    !isRest(to)
  )
    return 'Of a noun only public.ts and module.ts are used, and its GraphQL types.';
  const [folder, other] = [folderOf(from), folderOf(to)];
  if (folder !== undefined && other !== undefined && folder !== other && !typeOnly) {
    return 'A folder of gateway uses only types of another.';
  }
  return layer === 'domains' ? domainFaultOf({ from, to, typeOnly }) : undefined;
}

function domainFaultOf({ from, to, typeOnly }: Omit<Import, 'line'>): string | undefined {
  const [noun, other] = [nounOf(from), nounOf(to)];
  if (other !== undefined && other !== noun) {
    const isPublic = to.endsWith('/public.ts');
    const isShared = (isGraphQL(from) && isGraphQL(to)) || (isRest(from) && to.endsWith('/rest-documents.ts'));
    if (!isPublic && !isShared)
      return 'Of another noun only public.ts is used, and its GraphQL types and REST documents by files of the same API.';
  }
  // A module connects the parts of its noun.
  if (from.endsWith('/module.ts')) return undefined;
  if (isGraphQL(from) && (isRest(to) || isHttp(to))) return 'GraphQL files do not know REST.';
  if (isRest(from) && (isGraphQL(to) || isGraphQLLibrary(to))) return 'REST files do not know GraphQL.';
  if (isGraphQL(from) || isRest(from)) {
    return isDatabase(to) && !typeOnly ? 'GraphQL and REST files do not touch the database.' : undefined;
  }
  if (isGraphQL(to) || isRest(to) || (!typeOnly && (isGraphQLLibrary(to) || isHttp(to)))) {
    return 'Only GraphQL and REST files know GraphQL and HTTP.';
  }
  return undefined;
}

/** The imports of one noun from another, as imports between their folders. */
export function betweenNouns(imports: readonly Import[]): Import[] {
  return imports.flatMap((each) => {
    const [from, to] = [nounOf(each.from), nounOf(each.to)];
    return from !== undefined && to !== undefined && from !== to ? [{ ...each, from, to }] : [];
  });
}

/** Import cycles, including type imports: each as its files in order. */
export function cyclesOf(imports: readonly Import[]): string[][] {
  const edges = Map.groupBy(imports, ({ from }) => from);
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    for (const { to } of edges.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return cycles;
}
