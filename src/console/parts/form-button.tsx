import type { ComponentType } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useKeptFocus } from './hooks.ts';

/** What the dialog of a form gets from its button. */
export interface DialogProps {
  readonly onClose: () => void;
}

interface FormButtonProps<Props extends DialogProps> {
  readonly label: string;
  readonly isPlain?: boolean;
  readonly dialog: ComponentType<Props>;
  /** The other properties of the dialog. */
  readonly props: Omit<NoInfer<Props>, keyof DialogProps>;
}

/** A button that opens the dialog of a form. */
export function FormButton<Props extends DialogProps>({
  label,
  isPlain = true,
  dialog: Dialog,
  props,
}: FormButtonProps<Props>) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useKeptFocus(button);
  // Once the dialog is gone: while it is open, nothing behind it can have the focus.
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (wasOpen.current && !isOpen) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  // What `Omit` leaves out is here again.
  const whole = { ...props, onClose: () => setOpen(false) } as Props;
  const className = `button small ${isPlain ? 'plain' : ''}`;
  return (
    <>
      <button ref={button} class={className} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && <Dialog {...whole} />}
    </>
  );
}
