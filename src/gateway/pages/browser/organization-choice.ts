// The organization that an unbound key acts in, as chosen in the page header. The choice is stored for all pages.
const STORAGE_KEY = 'organization';
const choice = document.querySelector<HTMLSelectElement>('#organization');

if (choice) {
  const kept = localStorage.getItem(STORAGE_KEY);
  if (kept !== null && [...choice.options].some(({ value }) => value === kept)) choice.value = kept;
  choice.addEventListener('change', () => localStorage.setItem(STORAGE_KEY, choice.value));
}

/** The header with the chosen organization; empty when the key has only one. */
export function organizationHeader(): Record<string, string> {
  return choice ? { 'X-Organization-Id': choice.value } : {};
}
