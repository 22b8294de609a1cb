import { useEffect } from 'preact/hooks';
import { Copyable } from '../parts/copyable.tsx';
import { durationOf } from '../parts/amounts.ts';
import { usageWords } from './event-content.ts';
import { HoldWords } from './hold-words.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { type Fact, Facts, Time, personOf, wordsOf } from '../parts/parts.tsx';
import { tookMs } from './session-head.tsx';
import { addSessionStyle } from './session-style.ts';

/** What is behind the button in the head of a session: its facts, and all its totals. */

type Session = NonNullable<Answers['Session']['session']>;

interface DetailsProps {
  readonly session: Session;
  /** Why the session failed. */
  readonly reason: string | undefined;
  readonly isFinished: boolean;
  readonly models: readonly string[];
}

export function SessionDetails({ session, reason, isFinished, models }: DetailsProps) {
  const { databaseId: id, description } = session;
  useEffect(() => {
    addSessionStyle();
    // The button is always in view; the top of the page may not be.
    const panel = document.querySelector('#session-details');
    if (panel && panel.getBoundingClientRect().top < 0) panel.scrollIntoView();
  }, []);
  const totals = usageWords(session.usage ?? {}).map(([, words]) => words);
  return (
    <section id="session-details" class="panel" aria-label="Details">
      {description && (
        <p class="description" tabindex={0}>
          {description}
        </p>
      )}
      {/^(?:claude|codex)$/.test(session.source?.agent ?? '') && (
        <div>
          <p>Go on with this session on another machine, in the folder of the project:</p>
          <Copyable text={`node record.mjs pull ${id}`} />
        </div>
      )}
      <Facts
        facts={[
          ...factsOf(session, isFinished),
          ['Failed because', reason],
          ['Models', models.join(', ')],
          ['All totals', totals.join(' · ')],
        ]}
      />
    </section>
  );
}

function factsOf(session: Session, isFinished: boolean): readonly Fact[] {
  const { createdAt, lastSeenAt } = session;
  const took = tookMs(session);
  return [
    ['Agent', session.agent],
    ['Created by', session.creator && personOf(session.creator)],
    ['Project', session.project?.name],
    ['Visibility', wordsOf(session.visibility)],
    ['Hold', session.hold && <HoldWords hold={session.hold} />],
    ['Branch', session.branchName],
    ['Transcript', session.source && `${session.source.agent} ${session.source.id}`],
    ['Changes', session.diffSummary && `+${session.diffSummary.additions} −${session.diffSummary.deletions}`],
    ['Created', <Time at={createdAt} />],
    [isFinished ? 'Finished' : 'Last recorded', <Time at={lastSeenAt} />],
    [session.usage?.durationMs == null ? 'Took' : 'Agent time', isFinished && took > 0 ? durationOf(took) : undefined],
  ];
}
