import { editsOf } from './edits.ts';
import { visibleText } from '../parts/markup.ts';
import { summaryOf } from './timeline-body.tsx';
import { type Entry, type TimelineItem, itemOf } from './timeline.ts';
import { failureIn } from './session-failure.ts';

interface LatestProps {
  /** The latest entries of the session. */
  readonly entries: readonly Entry[];
  readonly hasFailed: boolean;
}

/** What a session does, or why it failed, in one line. */
export function Latest({ entries, hasFailed }: LatestProps) {
  const items = entries.map(itemOf);
  const text = hasFailed ? failureIn(items)?.text : activityIn(items);
  if (text === undefined) return null;
  return (
    <p class={hasFailed ? 'fault latest' : 'soft latest'} dir="auto" title={visibleText(text)}>
      {text}
    </p>
  );
}

/** The latest call or message. Notes, such as of what was used, say nothing about the work. */
function activityIn(items: readonly TimelineItem[]): string | undefined {
  const last = items.findLast(({ kind }) => kind !== 'note');
  if (!last || last.kind === 'note') return undefined;
  if (last.kind === 'message') return `${last.speaker}: ${last.text.trim().split('\n', 1)[0] ?? ''}`;
  const { name, input, isOpen } = last;
  return `${isOpen ? 'Runs' : 'Ran'} ${name} ${summaryOf(input, editsOf(name, input))}`.trim();
}
