// The organization that a key of several acts in, as the bar of the page says. The choice is kept for all pages.
const KEPT_AS = 'organization';
const choice = document.querySelector<HTMLSelectElement>('#organization');

if (choice) {
  const kept = localStorage.getItem(KEPT_AS);
  if (kept !== null && [...choice.options].some(({ value }) => value === kept)) choice.value = kept;
  choice.addEventListener('change', () => localStorage.setItem(KEPT_AS, choice.value));
}

/** The header that names the organization; none where the key has only one. */
export function organizationHeader(): Record<string, string> {
  return choice ? { 'X-Organization-Id': choice.value } : {};
}
