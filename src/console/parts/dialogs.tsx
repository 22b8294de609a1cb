import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { FaultText } from './fault-text.tsx';
import type { Content } from './markup.ts';

/** Confirmation dialogs, and small inline forms. */

interface ConfirmProps {
  readonly question: string;
  readonly label: string;
  readonly onAnswer: (isConfirmed: boolean) => void;
}

/** A native dialog: it keeps the focus inside, and Escape cancels it. */
export function ConfirmDialog({ question, label, onAnswer }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={question} onClose={() => onAnswer(dialog.current?.returnValue === 'yes')}>
      <form method="dialog">
        <p>{question}</p>
        <div class="row">
          <button class="button small danger" value="yes">
            {label}
          </button>
          <button class="button small plain" value="no">
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface InfoProps {
  readonly title: string;
  /** Its accessible name; the title when absent. */
  readonly label?: string;
  readonly isWide?: boolean;
  readonly onClose: () => void;
  readonly children: Content;
}

/** A dialog that only shows something. */
export function InfoDialog({ title, label = title, isWide = false, onClose, children }: InfoProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class={isWide ? 'wide' : undefined} ref={dialog} aria-label={label} onClose={onClose}>
      <h2>{title}</h2>
      {children}
      <Button onClick={() => dialog.current?.close()}>Close</Button>
    </dialog>
  );
}

interface RenameProps {
  /** The accessible label of the field. */
  readonly label: string;
  readonly value: string;
  /** Returns the error, if any. */
  readonly save: (value: string) => Promise<string | undefined>;
}

/** A button that turns into a text field. */
export function Rename({ label, value, save }: RenameProps) {
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
    return (
      <Button ref={button} onClick={() => setDraft(value)}>
        Rename
      </Button>
    );
  const submit = async (event: Event) => {
    event.preventDefault();
    const found = draft === value ? undefined : await save(draft);
    setFault(found);
    if (found === undefined) setDraft(undefined);
  };
  const leave = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    // It does not close the menu around it, too.
    event.stopPropagation();
    setDraft(undefined);
  };
  return (
    <form class="row" onSubmit={(event) => void submit(event)} onKeyDown={leave}>
      <input
        ref={field}
        aria-label={label}
        required
        maxlength={200}
        value={draft}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
      />
      <button class="button small">Save</button>
      <Button onClick={() => setDraft(undefined)}>Cancel</Button>
      <FaultText text={fault} />
    </form>
  );
}
