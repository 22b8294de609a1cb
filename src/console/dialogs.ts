import type { VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html, valueOf } from './html.ts';

/** Confirmation dialogs, and small inline forms. */

interface ConfirmProps {
  readonly question: string;
  readonly label: string;
  readonly onAnswer: (isConfirmed: boolean) => void;
}

/** A native dialog: it keeps the focus inside, and Escape cancels it. */
export function ConfirmDialog({ question, label, onAnswer }: ConfirmProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return html`<dialog
    ref=${dialog}
    aria-label=${question}
    onClose=${() => onAnswer(dialog.current?.returnValue === 'yes')}
  >
    <form method="dialog">
      <p>${question}</p>
      <div class="row">
        <button class="button small danger" value="yes">${label}</button>
        <button class="button small plain" value="no">Cancel</button>
      </div>
    </form>
  </dialog>`;
}

interface RenameProps {
  /** The accessible label of the field. */
  readonly label: string;
  readonly value: string;
  /** Returns the error, if any. */
  readonly save: (value: string) => Promise<string | undefined>;
}

/** A button that turns into a text field. */
export function Rename({ label, value, save }: RenameProps): VNode {
  const [draft, setDraft] = useState<string>();
  const [fault, setFault] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isOpen = draft !== undefined;
  const wasOpen = useRef(false);
  // Focus the field before the user can type, and the button again when the field is gone.
  useLayoutEffect(() => {
    field.current?.select();
    if (wasOpen.current) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  if (!isOpen)
    return html`<button ref=${button} class="button small plain" onClick=${() => setDraft(value)}>Rename</button>`;
  const submit = async (event: Event) => {
    event.preventDefault();
    const found = draft === value ? undefined : await save(draft);
    setFault(found);
    if (found === undefined) setDraft(undefined);
  };
  const leave = (event: KeyboardEvent) => event.key === 'Escape' && setDraft(undefined);
  return html`<form class="row" onSubmit=${submit} onKeyDown=${leave}>
    <input
      ref=${field}
      aria-label=${label}
      required
      value=${draft}
      onInput=${(event: Event) => setDraft(valueOf(event))}
    />
    <button class="button small">Save</button>
    <button type="button" class="button small plain" onClick=${() => setDraft(undefined)}>Cancel</button>
    ${fault !== undefined && html`<span class="fault" role="alert">${fault}</span>`}
  </form>`;
}
