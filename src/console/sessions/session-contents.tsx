import { useEffect, useMemo, useState } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { type Entry, type Outline, nameOf } from './session-outline.ts';
import { useVisibleEvent } from './visible-event.ts';

/** The turns and subagents of a session, each with a link to its event and what happened in it. */

const MAX_SHOWN = 500;

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

interface ContentsProps {
  readonly sessionId: string;
  readonly outline: Outline;
  readonly turns: number;
}

/** Beside the timeline if the window is wide enough, else folded above it. */
export function SessionContents({ sessionId, outline, turns }: ContentsProps) {
  const isWide = useMedia('(min-width: 1500px)');
  const { entries } = outline;
  if (entries.length === 0) return null;
  const nav = <Entries sessionId={sessionId} outline={outline} />;
  if (isWide)
    return (
      <aside class="contents">
        <h3>Outline</h3>
        {nav}
      </aside>
    );
  return (
    <details class="contents folded">
      <summary>
        Outline <span class="soft">{wordsOf(entries, turns)}</span>
      </summary>
      {nav}
    </details>
  );
}

function wordsOf(entries: readonly Entry[], turns: number): string {
  const subagents = entries.filter(({ kind }) => kind === 'SUBAGENT').length;
  const parts = [turns > 0 && counted(turns, 'turn'), subagents > 0 && counted(subagents, 'subagent')];
  return parts.filter(Boolean).join(', ');
}

function Entries({ sessionId, outline }: Omit<ContentsProps, 'turns'>) {
  const visible = useVisibleEvent();
  const rows = useMemo(() => rowsOf(outline), [outline]);
  const current = rows.findLastIndex(({ id }) => id <= visible);
  return (
    <nav aria-label="Outline">
      <ol>
        {rows.map(({ entry, id, happened }, index) => (
          <li key={id} class={entry.kind.toLowerCase()}>
            <a href={`/sessions/${sessionId}#event-${id}`} aria-current={index === current ? 'location' : undefined}>
              <span class="kind">{entry.kind === 'TURN' ? 'User' : 'Subagent'}</span>{' '}
              <span class="entry-text">{nameOf(entry)}</span>
            </a>
            <span class="soft">{happened}</span>
          </li>
        ))}
      </ol>
      {outline.entries.length > MAX_SHOWN && <p class="soft">The first {MAX_SHOWN} are shown.</p>}
    </nav>
  );
}

interface Row {
  readonly entry: Entry;
  readonly id: number;
  /** When it began, and what happened in it. */
  readonly happened: string;
}

const rowsOf = ({ entries }: Outline): readonly Row[] =>
  entries.slice(0, MAX_SHOWN).map((entry) => {
    const words = [clock.format(new Date(entry.createdAt)), happenedIn(entry)];
    return { entry, id: Number(entry.eventId), happened: words.filter(Boolean).join(' · ') };
  });

/** How many tool calls ended and how many errors were reported; empty for none. */
export function happenedIn({ toolCalls, failures }: Entry): string {
  const words = [toolCalls > 0 && counted(toolCalls, 'tool call'), failures > 0 && counted(failures, 'error')];
  return words.filter(Boolean).join(' · ');
}

function useMedia(query: string): boolean {
  const [media] = useState(() => matchMedia(query));
  const [matches, setMatches] = useState(media.matches);
  useEffect(() => {
    const changed = () => setMatches(media.matches);
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, [media]);
  return matches;
}
