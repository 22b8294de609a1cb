import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { useSettled } from '../parts/filters.tsx';
import { useQuery } from '../parts/hooks.ts';
import { goTo } from '../parts/navigation.ts';
import type { Section } from '../sections.ts';

/** Attributes that the types of Preact allow only together with `list`. */
const COMBOBOX = {
  role: 'combobox',
  'aria-label': 'Find a page, an object or an action',
  'aria-expanded': 'true',
  'aria-controls': 'commands',
} as object;

interface Command {
  readonly name: string;
  readonly kind: string;
  readonly run: () => void;
}

interface PaletteProps {
  readonly sections: readonly Section[];
  readonly onClose: () => void;
}

/** Finds pages, objects and the actions of this page by a part of their name. */
export function CommandPalette({ sections, onClose }: PaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  // As they are when it opens: what is behind it can be used only then.
  const [actions] = useState(actionsOfPage);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const objects = useObjects(useSettled(text.trim()));
  const pages = sections.map(({ href, name }): Command => ({ name, kind: 'Page', run: () => goTo(href) }));
  const isFound = ({ name }: Command) => name.toLowerCase().includes(text.trim().toLowerCase());
  const found = [...[...pages, ...actions].filter(isFound), ...objects];
  const marked = Math.min(at, found.length - 1);
  useEffect(() => {
    document.getElementById(`command-${marked}`)?.scrollIntoView({ block: 'nearest' });
  }, [marked]);
  const choose = (command: Command | undefined) => {
    if (!command) return;
    dialog.current?.close();
    onClose();
    command.run();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setAt((marked + step + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') choose(found[marked]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="wide palette" aria-label="Find" onClose={onClose}>
      <input
        {...COMBOBOX}
        aria-activedescendant={found.length > 0 ? `command-${marked}` : undefined}
        autocomplete="off"
        maxlength={200}
        placeholder="Page, session, event definition, connection or action"
        value={text}
        onKeyDown={pressed}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
      />
      <Found found={found} marked={marked} choose={choose} />
      <p class="soft" role="status">
        {found.length === 0
          ? 'Nothing with this name.'
          : `${counted(found.length, 'result')}. Enter opens the marked one.`}
      </p>
    </dialog>
  );
}

interface FoundProps {
  readonly found: readonly Command[];
  readonly marked: number;
  readonly choose: (command: Command) => void;
}

const Found = ({ found, marked, choose }: FoundProps) => (
  <ul id="commands" role="listbox" aria-label="Found">
    {found.map((command, index) => (
      <li
        key={`${command.kind} ${command.name} ${index}`}
        id={`command-${index}`}
        role="option"
        aria-selected={index === marked}
        onClick={() => choose(command)}
      >
        <span dir="auto">{command.name}</span> <span class="soft">{command.kind}</span>
      </li>
    ))}
  </ul>
);

/** The buttons in the head of the page. */
function actionsOfPage(): readonly Command[] {
  return [
    ...document.querySelectorAll<HTMLButtonElement>(
      'main :is(.page-head, .session-title) .actions button:not([aria-expanded])',
    ),
  ].map((button) => ({
    name: button.textContent,
    kind: 'Action',
    run: () => button.click(),
  }));
}

/** The objects with this text in their name; without one, the latest. What the caller may not read is not there. */
function useObjects(text: string): readonly Command[] {
  const { sessions, eventDefinitions, mcpServers } =
    useQuery('FindByName', { search: text === '' ? null : text }).data?.viewer.organization ?? {};
  const to = (name: string, kind: string, path: string): Command => ({ name, kind, run: () => goTo(path) });
  return [
    ...(sessions?.nodes ?? []).map(({ databaseId, title }) => to(title, 'Session', `/sessions/${databaseId}`)),
    ...(eventDefinitions?.nodes ?? []).map(({ name, label }) =>
      to(label, 'Event definition', `/event-definitions/${encodeURIComponent(name)}`),
    ),
    ...(mcpServers?.nodes ?? []).map(({ databaseId, name }) =>
      to(name, 'MCP connection', `/mcp-connections/${databaseId}`),
    ),
  ];
}
