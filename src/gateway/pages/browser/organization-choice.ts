// The organization that an unbound key acts in, as chosen in the page header. It is in the address, so that each tab has its own.
const PARAMETER = 'organization';
const choice = document.querySelector<HTMLSelectElement>('#organization');

/** The address of a page in the chosen organization. */
export function inOrganization(address: URL): URL {
  const { slug } = choice?.selectedOptions[0]?.dataset ?? {};
  if (choice) address.searchParams.set(PARAMETER, slug ?? choice.value);
  return address;
}

function showInAddresses(): void {
  history.replaceState(null, '', inOrganization(new URL(location.href)));
  for (const link of document.querySelectorAll<HTMLAnchorElement>('header.bar a'))
    link.href = inOrganization(new URL(link.href)).href;
}

if (choice) {
  const named = new URLSearchParams(location.search).get(PARAMETER);
  const wanted = [...choice.options].find(({ value, dataset }) => value === named || dataset['slug'] === named);
  if (wanted) choice.value = wanted.value;
  showInAddresses();
  choice.addEventListener('change', showInAddresses);
}

/** The header with the chosen organization; empty when the key has only one. */
export const organizationHeader = (): Record<string, string> => (choice ? { 'X-Organization-Id': choice.value } : {});
