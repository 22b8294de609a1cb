/** The key of a shortcut; undefined while somebody types or a dialog is open, and for combinations, which belong to the browser. */
export function shortcutOf({ key, target, repeat, ctrlKey, metaKey, altKey }: KeyboardEvent): string | undefined {
  const isTyping = target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, dialog');
  return isTyping || repeat || ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') ? undefined : key;
}
