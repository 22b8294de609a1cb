import { useLayoutEffect, useState } from 'preact/hooks';
import { InfoDialog } from '../parts/dialogs.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { shortcutOf } from '../parts/keys.ts';
import type { Section } from '../sections.ts';
import { CommandPalette } from './command-palette.tsx';

/** The shortcuts of every page. */

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const FIND = isMac ? '⌘K' : 'Ctrl K';

const SHORTCUTS = [
  [FIND, 'Find a page, a session, an event definition, a connection or an action of the page'],
  ['/', 'Go to the first filter of the page'],
  ['j', 'Go to the next row of the list'],
  ['k', 'Go to the row before'],
  ['Enter', 'Open the row'],
  ['a, d', 'Approve or deny the marked call, on the page of the approvals'],
  ['?', 'Show these shortcuts'],
] as const;

interface KeyboardProps {
  readonly sections: readonly Section[];
}

/** Two buttons, for those who do not know the keys yet, and what they open. */
export function Keyboard({ sections }: KeyboardProps) {
  const [open, setOpen] = useState<'find' | 'help'>();
  const close = () => setOpen(undefined);
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const finds = (isMac ? event.metaKey : event.ctrlKey) && event.key.toLowerCase() === 'k';
      const key = shortcutOf(event);
      if (finds && !event.shiftKey && !event.altKey && !document.querySelector('dialog[open]')) setOpen('find');
      else if (key === '?') setOpen('help');
      else if (key === '/') document.querySelector<HTMLElement>('main form[role=search] input')?.focus();
      else if (key === 'j' || key === 'k') moveFocus(key === 'j' ? 1 : -1);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <>
      <div class="finders">
        <button class="finder" aria-keyshortcuts={isMac ? 'Meta+K' : 'Control+K'} onClick={() => setOpen('find')}>
          Find… <kbd>{FIND}</kbd>
        </button>
        <button class="finder" aria-label="Keyboard shortcuts" aria-keyshortcuts="?" onClick={() => setOpen('help')}>
          <kbd>?</kbd>
        </button>
      </div>
      {open === 'find' && <CommandPalette sections={sections} onClose={close} />}
      {open === 'help' && <Shortcuts onClose={close} />}
    </>
  );
}

/** Focuses the first link of the next or previous row that has one. */
function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll('main tbody tr')].filter((row) => row.querySelector('a'));
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = at === -1 && step === -1 ? undefined : rows[at + step];
  next?.querySelector('a')?.focus();
}

const Shortcuts = ({ onClose }: DialogProps) => (
  <InfoDialog title="Keyboard shortcuts" onClose={onClose}>
    <dl class="shortcuts">
      {SHORTCUTS.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  </InfoDialog>
);
