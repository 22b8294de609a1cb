import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html, valueOf } from './html.ts';
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
  readonly children?: ComponentChildren;
  /** A plot of the session. */
  readonly strip?: ComponentChildren;
}

/** The heading of a timeline, with its state and the ways to find something in it. */
export function TimelineHead({ search, children, strip }: HeadProps): VNode {
  const { text, setText, isErrorsOnly, setErrorsOnly } = search;
  return html`<div class="timeline-head">
    <h2 id="timeline-title" class="visually-hidden">Timeline</h2>
    ${children}
    <form class="find" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
      <input
        type="search"
        aria-label="Search in the session"
        placeholder="Search"
        value=${text}
        onInput=${(event: Event) => setText(valueOf(event))}
      />
      <label class="check"
        ><input
          type="checkbox"
          checked=${isErrorsOnly}
          onChange=${(event: Event) => setErrorsOnly((event.target as HTMLInputElement).checked)}
        />Errors only</label
      >
    </form>
    <${Jump} />
    ${strip}
  </div>`;
}

/** Goes to an event by its number. */
function Jump(): VNode {
  const [number, setNumber] = useState('');
  const go = (event: Event) => {
    event.preventDefault();
    if (Number(number) > 0) goToEvent(Number(number));
  };
  return html`<form class="find" onSubmit=${go}>
    <label
      ><span class="visually-hidden">Event</span>
      <input
        class="event-number"
        inputmode="numeric"
        pattern="[0-9]{1,15}"
        placeholder="Event"
        title="The number of an event"
        value=${number}
        onInput=${(event: Event) => setNumber(valueOf(event))}
    /></label>
    <button class="button small plain">Go</button>
  </form>`;
}
