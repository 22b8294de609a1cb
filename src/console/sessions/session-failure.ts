import type { TimelineItem } from './timeline.ts';

/** Why a session failed, as far as its entries say: the last error. */
export function failureIn(items: readonly TimelineItem[]): { readonly id: number; readonly text: string } | undefined {
  const last = items.findLast((item) => item.kind !== 'message' && item.isError);
  if (!last || last.kind === 'message') return undefined;
  if (last.kind === 'note') return { id: last.id, text: firstLine(last.text) };
  const reason = firstLine(last.output);
  return { id: last.id, text: `${last.name}${reason === '' ? ' failed' : `: ${reason}`}` };
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? '';
