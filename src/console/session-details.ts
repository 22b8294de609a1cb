import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { withOrganization } from './address.ts';
import { run } from './api.ts';
import { Rename } from './dialogs.ts';
import { durationOf } from './amounts.ts';
import { usageWords } from './event-content.ts';
import { HoldWords } from './hold-words.ts';
import { refusalOf } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Facts, Time, personOf, wordsOf } from './parts.ts';
import { RedactTextButton } from './redaction.ts';
import { SessionForms } from './session-actions.ts';
import { tookMs } from './session-head.ts';
import { SessionKeeping } from './session-keeping.ts';
import { addSessionStyle } from './session-style.ts';

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

export function SessionDetails({ session, reason, isFinished, models, onChange, onRedacted }: DetailsProps): VNode {
  const { databaseId: id, description } = session;
  useEffect(() => {
    addSessionStyle();
    // The button is always in view; the top of the page may not be.
    const panel = document.querySelector('#session-details');
    if (panel && panel.getBoundingClientRect().top < 0) panel.scrollIntoView();
  }, []);
  const totals = usageWords(session.usage ?? {}).map(([, words]) => words);
  return html`<section id="session-details" class="panel" aria-label="Details">
    <div class="actions">
      ${session.viewerCanUpdate && html`<${Changes} session=${session} onChange=${onChange} />`}
      <${SessionForms} session=${session} onChange=${onChange} />
      <${Exports} id=${id} />
      ${onRedacted && html`<${RedactTextButton} sessionId=${id} onDone=${onRedacted} />`}
      <${SessionKeeping} session=${session} onChange=${onChange} />
    </div>
    ${description && html`<p class="description" tabindex="0">${description}</p>`}
    <${Facts}
      facts=${[...factsOf(session, isFinished), ['Failed because', reason], ['Models', models.join(', ')], ['All totals', totals.join(' · ')]]}
    />
  </section>`;
}

/** The actions of users who may change the session. */
function Changes({ session, onChange }: { readonly session: Session; readonly onChange: () => void }): VNode {
  const rename = async (title: string) => {
    const answer = await run('RenameSession', { id: session.id, title });
    onChange();
    return refusalOf(answer.data?.updateSession, answer.faults);
  };
  const pin = async () => {
    const answer = await run('PinSession', { id: session.id, isPinned: !session.isPinned });
    onChange();
    return refusalOf(answer.data?.pinSession, answer.faults);
  };
  return html`<${Rename} label="Title" value=${session.title} save=${rename} />
    <${Action} label=${session.isPinned ? 'Unpin' : 'Pin'} run=${pin} />`;
}

const FILES = [
  ['markdown', 'md', 'Export as Markdown'],
  ['ndjson', 'ndjson', 'Export as NDJSON'],
] as const;

/** The files come over REST, with the sign-in of the browser. */
function Exports({ id }: { readonly id: string }): VNode {
  return html`${FILES.map(([format, extension, label]) => {
    const path = `/v1/sessions/${id}/export?format=${format}`;
    // A link cannot name the organization of this tab; a request can.
    if (withOrganization(path) !== path)
      return html`<${Action}
        label=${label}
        run=${async () => (await import('./download.ts')).download({ path, name: `session-${id}.${extension}` })}
      />`;
    return html`<a class="button small plain" href=${path} download>${label}</a>`;
  })}`;
}

function factsOf(session: Session, isFinished: boolean): readonly (readonly [string, unknown])[] {
  const { createdAt, lastSeenAt } = session;
  const took = tookMs(session);
  return [
    ['Agent', session.agent],
    ['Created by', session.creator && personOf(session.creator)],
    ['Project', session.project?.name],
    ['Visibility', wordsOf(session.visibility)],
    ['Hold', session.hold && html`<${HoldWords} hold=${session.hold} />`],
    ['Branch', session.branchName],
    ['Transcript', session.source && `${session.source.agent} ${session.source.id}`],
    ['Changes', session.diffSummary && `+${session.diffSummary.additions} −${session.diffSummary.deletions}`],
    ['Created', html`<${Time} at=${createdAt} />`],
    [isFinished ? 'Finished' : 'Last recorded', html`<${Time} at=${lastSeenAt} />`],
    [session.usage?.durationMs == null ? 'Took' : 'Agent time', isFinished && took > 0 ? durationOf(took) : undefined],
  ];
}
