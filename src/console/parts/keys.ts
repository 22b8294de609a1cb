const OFF = 'shortcuts-off';

/** Whether this browser has shortcuts of one key, which a person can turn off (WCAG 2.1.4). */
export const singleKeys = {
  areOn: (): boolean => localStorage.getItem(OFF) === null,
  turn: (isOn: boolean): void => (isOn ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, 'yes')),
};

/** The key of a shortcut; undefined while somebody types or a dialog is open, and for combinations, which belong to the browser. */
export function shortcutOf({ key, target, repeat, ctrlKey, metaKey, altKey }: KeyboardEvent): string | undefined {
  const isTyping = target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, dialog');
  return isTyping ||
    !singleKeys.areOn() ||
    repeat ||
    ctrlKey ||
    metaKey ||
    altKey ||
    document.querySelector('dialog[open]')
    ? undefined
    : key;
}
