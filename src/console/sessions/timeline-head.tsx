import type { Content } from '../parts/markup.ts';
import { useState } from 'preact/hooks';
import { goToEvent } from './wanted-event.ts';

/** What of a session is searched. It is in the address, so that it can be shared. */
export interface Search {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly isErrorsOnly: boolean;
  readonly setErrorsOnly: (isOn: boolean) => void;
}

interface HeadProps {
  readonly search: Search;
  readonly children?: Content;
  /** A plot of the session. */
  readonly strip?: Content;
}

/** The heading of a timeline, with its state and the ways to find something in it. */
export function TimelineHead({ search, children, strip }: HeadProps) {
  const { text, setText, isErrorsOnly, setErrorsOnly } = search;
  return (
    <div class="timeline-head">
      <h2 id="timeline-title" class="visually-hidden">
        Timeline
      </h2>
      {children}
      <form class="find" role="search" onSubmit={(event: Event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search in the session"
          placeholder="Search"
          maxlength={2000}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isErrorsOnly}
            onChange={({ currentTarget }) => setErrorsOnly(currentTarget.checked)}
          />
          Errors only
        </label>
      </form>
      <Jump />
      {strip}
    </div>
  );
}

/** Goes to an event by its number. */
function Jump() {
  const [number, setNumber] = useState('');
  const go = (event: Event) => {
    event.preventDefault();
    if (Number(number) > 0) goToEvent(Number(number));
  };
  return (
    <form class="find" onSubmit={go}>
      <label>
        <span class="visually-hidden">Event</span>
        <input
          class="event-number"
          inputmode="numeric"
          pattern="[0-9]{1,15}"
          placeholder="Event"
          title="The number of an event"
          value={number}
          onInput={({ currentTarget }) => setNumber(currentTarget.value)}
        />
      </label>
      <button class="button small plain">Go</button>
    </form>
  );
}
