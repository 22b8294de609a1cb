import { useState } from 'preact/hooks';
import { type Answer, run } from '../parts/api.ts';
import { counted } from '../parts/amounts.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { confirmDone } from '../parts/notices.tsx';
import { eventIdsOf } from './recorded-event.tsx';
import type { Answers } from '../generated/operation-types.ts';

interface RedactionProps extends DialogProps {
  /** `id` or `databaseId` of the session. */
  readonly sessionId: string;
  readonly onDone: () => void;
}

interface TextProps extends RedactionProps {
  /** What the reader has marked; empty for nothing. */
  readonly marked: string;
}

const TOO_MANY_EVENTS =
  'The session has too many events to redact a text everywhere. Find the events that have it with the search of the session, and redact these events.';

interface Redacted {
  readonly redactedEvents: number;
  readonly redactedTexts: number;
}

function confirmRedacted({ redactedEvents, redactedTexts }: Redacted): void {
  confirmDone(`${counted(redactedTexts, 'text')} changed, in ${counted(redactedEvents, 'event')}.`);
}

/** Replaces a text in the whole session. What is marked can be corrected first. */
export function RedactText({ sessionId, marked, onDone, onClose }: TextProps) {
  const [isAbsent, setAbsent] = useState(false);
  const form = useForm({
    boundsOf: 'RedactSessionEvents',
    initial: { text: marked },
    reasonWords: { LIMIT_REACHED: TOO_MANY_EVENTS },
    send: ({ text }, { idempotencyKey }) => {
      setAbsent(false);
      return run('RedactSessionEvents', { input: { sessionId, text } }, { idempotencyKey });
    },
    onDone: (redacted) => {
      if (redacted.redactedTexts === 0) return setAbsent(true);
      onClose();
      onDone();
      confirmRedacted(redacted);
    },
  });
  return (
    <FormDialog title="Redact everywhere" submit="Redact" isDanger form={form} onClose={onClose}>
      <p>
        Each occurrence of this text in the events, the pull requests and the session itself, such as its title and
        branches, becomes “[redacted]”. Other texts and the order of the events stay. This cannot be undone.
      </p>
      {isAbsent && (
        <p class="notice" role="alert">
          Nothing was changed: the session does not have this text. Upper and lower case, spaces and line breaks count.
        </p>
      )}
      <TextField name="text" label="Text" rows={3} isRequired help="4 to 10,000 characters." />
    </FormDialog>
  );
}

interface EventsProps extends RedactionProps {
  readonly entryIds: readonly number[];
}

/** So many events are redacted in one request. */
const BATCH = 1000;

type Redaction = Answer<Answers['RedactSessionEvents']>;

/** Redacts the events of the entries batch by batch. @returns the sums, or the first refusal */
async function redactAll(sessionId: string, entryIds: readonly number[], idempotencyKey: string): Promise<Redaction> {
  let ids: readonly number[] = [];
  for (const entryId of entryIds) ids = ids.concat(await eventIdsOf(sessionId, entryId));
  let sums: Redacted = { redactedEvents: 0, redactedTexts: 0 };
  for (let from = 0; ; from += BATCH) {
    const input = { sessionId, eventIds: ids.slice(from, from + BATCH).map(String) };
    const answer = await run('RedactSessionEvents', { input }, { idempotencyKey: `${idempotencyKey}-${from}` });
    const result = answer.data?.redactSessionEvents;
    if (result?.__typename !== 'RedactSessionEventsPayload') return answer;
    sums = {
      redactedEvents: sums.redactedEvents + result.redactedEvents,
      redactedTexts: sums.redactedTexts + result.redactedTexts,
    };
    if (from + BATCH >= ids.length) return { ...answer, data: { redactSessionEvents: { ...result, ...sums } } };
  }
}

/** Replaces all texts of the events of some entries. */
export function RedactEvents({ sessionId, entryIds, onDone, onClose }: EventsProps) {
  const form = useForm({
    initial: {},
    send: (_, { idempotencyKey }) => redactAll(sessionId, entryIds, idempotencyKey),
    onDone: (redacted) => {
      onClose();
      onDone();
      confirmRedacted(redacted);
    },
  });
  const isOne = entryIds.length === 1;
  const which = isOne ? 'this entry' : `these ${entryIds.length} entries`;
  return (
    <FormDialog
      title={isOne ? 'Redact the entry' : 'Redact the entries'}
      submit="Redact"
      isDanger
      form={form}
      onClose={onClose}
    >
      <p>
        Every text in {which} becomes “[redacted]”. Types, ids and names of tools stay, and so does the order of the
        events. This cannot be undone.
      </p>
    </FormDialog>
  );
}
