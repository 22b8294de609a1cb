/** A function that allocates, with its file, and its bytes. */
export type Allocations = Record<string, number>;

interface AllocatingNode {
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly selfSize: number;
  readonly children: readonly AllocatingNode[];
}

/** Adds up a heap profile by function. */
export function allocationsOf(head: AllocatingNode): Allocations {
  const bytes = new Map<string, number>();
  const add = ({ callFrame: { functionName, url }, selfSize, children }: AllocatingNode): void => {
    const name = `${functionName || '(anonymous)'} ${fileOf(url)}`.trim();
    // What the profiler itself allocates.
    if (url === 'node:inspector') return;
    if (selfSize > 0) bytes.set(name, (bytes.get(name) ?? 0) + selfSize);
    for (const child of children) add(child);
  };
  add(head);
  return Object.fromEntries(bytes);
}

/** The name of the package and its file, or the file of our own: the same in each checkout. */
function fileOf(url: string): string {
  return url.replace(/^.*\/node_modules\//, '').replace(/^file:.*\/src\//, 'src/');
}
