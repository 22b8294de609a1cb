import { useEffect } from 'preact/hooks';
import { withOrganization } from '../parts/address.ts';
import { Copyable } from '../parts/copyable.tsx';
import { Rename } from '../parts/dialogs.tsx';
import { durationOf } from '../parts/amounts.ts';
import { usageWords } from './event-content.ts';
import { HoldWords } from './hold-words.tsx';
import { mutate } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, type Fact, Facts, Time, personOf, wordsOf } from '../parts/parts.tsx';
import { RedactTextButton } from './redaction.tsx';
import { SessionForms } from './session-actions.tsx';
import { tookMs } from './session-head.tsx';
import { SessionKeeping } from './session-keeping.tsx';
import { addSessionStyle } from './session-style.ts';
import { download } from '../parts/download.ts';

/** What is behind the button in the head of a session: its actions, its facts, and all its totals. */

type Session = NonNullable<Answers['Session']['session']>;

interface DetailsProps {
  readonly session: Session;
  /** Why the session failed. */
  readonly reason: string | undefined;
  readonly isFinished: boolean;
  readonly models: readonly string[];
  readonly onChange: () => void;
  /** Undefined for readers who cannot redact. */
  readonly onRedacted: (() => void) | undefined;
}

export function SessionDetails({ session, reason, isFinished, models, onChange, onRedacted }: DetailsProps) {
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
      <div class="actions">
        {session.viewerCanUpdate && <Changes session={session} onChange={onChange} />}
        <SessionForms session={session} onChange={onChange} />
        <Exports id={id} />
        {onRedacted && <RedactTextButton sessionId={id} onDone={onRedacted} />}
        <SessionKeeping session={session} onChange={onChange} />
      </div>
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

/** The actions of users who may change the session. */
function Changes({ session, onChange }: { readonly session: Session; readonly onChange: () => void }) {
  const rename = (title: string) => mutate('RenameSession', { id: session.id, title }, onChange);
  const pin = () => mutate('PinSession', { id: session.id, isPinned: !session.isPinned }, onChange);
  return (
    <>
      <Rename label="Title" value={session.title} save={rename} />
      <Action label={session.isPinned ? 'Unpin' : 'Pin'} run={pin} />
    </>
  );
}

const FILES = [
  ['markdown', 'md', 'Export as Markdown'],
  ['ndjson', 'ndjson', 'Export as NDJSON'],
] as const;

/** The files come over REST, with the sign-in of the browser. */
function Exports({ id }: { readonly id: string }) {
  return (
    <>
      {FILES.map(([format, extension, label]) => {
        const path = `/v1/sessions/${id}/export?format=${format}`;
        // A link cannot name the organization of this tab; a request can.
        if (withOrganization(path) !== path)
          return <Action label={label} run={() => download({ path, name: `session-${id}.${extension}` })} />;
        return (
          <a class="button small plain" href={path} download>
            {label}
          </a>
        );
      })}
    </>
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
