import { editsOf } from './file-diffs.ts';
import { visibleText } from '../parts/markup.ts';
import { summaryOf } from './timeline-body.tsx';
import { type Entry, itemOf } from './timeline.ts';

interface LatestProps {
  readonly text: string | null | undefined;
  readonly hasFailed: boolean;
}

/** What a session does, or why it failed, in one line. */
export function Latest({ text, hasFailed }: LatestProps) {
  if (text == null) return null;
  return (
    <p class={hasFailed ? 'fault latest' : 'soft latest'} dir="auto" title={visibleText(text)}>
      {text}
    </p>
  );
}

/** The latest call or message of the latest entries. Notes, such as of what was used, say nothing about the work. */
export function activityIn(entries: readonly Entry[]): string | undefined {
  const last = entries.map(itemOf).findLast(({ kind }) => kind !== 'note');
  if (!last || last.kind === 'note') return undefined;
  if (last.kind === 'message') return `${last.speaker}: ${last.text.trim().split('\n', 1)[0] ?? ''}`;
  const { name, input, isOpen } = last;
  return `${name} ${summaryOf(input, editsOf(name, input))}`.trim() + (isOpen ? ', running' : '');
}
