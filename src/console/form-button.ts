import type { ComponentType, VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useKeptFocus } from './hooks.ts';
import { html } from './html.ts';

/** What the dialog of a form gets from its button. */
export interface DialogProps {
  readonly onClose: () => void;
}

interface FormButtonProps<Props extends object> {
  readonly label: string;
  readonly isPlain?: boolean;
  /** Imports the dialog. The pages load no code of forms that nobody opens. */
  readonly load: () => Promise<ComponentType<Props & DialogProps>>;
  /** The other properties of the dialog. */
  readonly props: Props;
}

/** A button that opens the dialog of a form. */
export function FormButton<Props extends object>({
  label,
  isPlain = true,
  load,
  props,
}: FormButtonProps<Props>): VNode {
  const [loaded, setLoaded] = useState<{ readonly Dialog: ComponentType<Props & DialogProps> }>();
  const [isOpen, setOpen] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useKeptFocus(button);
  const open = async () => {
    setOpen(true);
    try {
      setLoaded({ Dialog: await load() });
      setFailed(false);
    } catch {
      setOpen(false);
      setFailed(true);
    }
  };
  // Once the dialog is gone: while it is open, nothing behind it can have the focus.
  const wasOpen = useRef(false);
  useLayoutEffect(() => {
    if (wasOpen.current && !isOpen) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  const className = `button small ${isPlain ? 'plain' : ''}`;
  return html`<button ref=${button} class=${className} aria-busy=${isOpen && !loaded} onClick=${open}>${label}</button
    >${hasFailed && html`<span class="fault" role="alert">The form cannot be loaded. Reload the page.</span>`}
    ${isOpen && loaded && html`<${loaded.Dialog} ...${props} onClose=${() => setOpen(false)} />`}`;
}
