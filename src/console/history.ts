import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Badge, Empty, List, Time, personOf, wordsOf } from './parts.ts';

/** Who changed an object, when, and what: its entries in the audit log. */

type Row = NonNullable<NonNullable<Answers['History']['viewer']['organization']>['auditLog']>['nodes'][number];

const HEAD = ['When', 'Change', 'By'];

/** Changes of a session that people make. A runner records all the time. */
const CHANGES = ['createSession', 'updateSession', 'pinSession', 'transitionSession', 'pruneSessionEvents'];

const WORDS: Readonly<Record<string, string>> = {
  createSession: 'Created the session',
  pinSession: 'Pinned or unpinned the session',
  transitionSession: 'Changed the state',
  pruneSessionEvents: 'Deleted old events',
  appendSessionEvents: 'Recorded events',
  recordArtifact: 'Recorded a result',
  recordPullRequest: 'Recorded a pull request',
};

export function SessionHistory({ id }: { readonly id: string }): VNode {
  const [hasRecording, setRecording] = useState(false);
  const operations = hasRecording ? null : CHANGES;
  const list = usePages('History', { id, first: 50, operations }, ({ viewer }) => viewer.organization?.auditLog);
  const empty = html`<${Empty}>Nothing has been changed.<//>`;
  return html`<section class="history" aria-labelledby="history-title">
    <div class="page-head">
      <h2 id="history-title">History</h2>
      <label class="check"
        ><input
          type="checkbox"
          checked=${hasRecording}
          onChange=${(event: Event) => setRecording((event.target as HTMLInputElement).checked)}
        />With recording</label
      >
    </div>
    <${List} label="Changes" list=${list} row=${rowOf} empty=${empty} head=${HEAD} />
  </section>`;
}

function rowOf(entry: Row): VNode {
  return html`<tr key=${entry.databaseId}>
    <td><${Time} at=${entry.occurredAt} /></td>
    <td class="wide">${changeOf(entry)} ${entry.refusal && html`<${Badge} value=${entry.refusal} />`}</td>
    <td>${entry.actor ? personOf(entry.actor) : wordsOf(entry.source)}</td>
  </tr>`;
}

function changeOf({ operation, changedFields }: Row): string {
  if (changedFields) return `Changed ${listOf(changedFields.map(words))}`;
  return WORDS[operation] ?? sentence(words(operation));
}

/** `branchName` becomes `branch name`. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const LIST = new Intl.ListFormat('en');

function listOf(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : LIST.format(names);
}
