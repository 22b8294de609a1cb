/**
 * The organization of this tab. For people with several organizations it is in the address of the page, so that a reload, a shared link and
 * the back button keep it. Nothing that other tabs do changes it.
 */

const PARAMETER = 'organization';
/** The latest organization of this tab, for addresses without one. Unlike `localStorage`, tabs do not share it. */
const LATEST = 'organization';

/** The organization that the address names: its slug or id. It does not change while the page is open. */
const named = new URLSearchParams(location.search).get(PARAMETER);
let current: string | null = named;
/** What links name; null if this person has only one organization. */
let inAddress: string | null = named;

export const organization = {
  /** The id of the organization of this tab, or what the address names; null until the gateway has answered which one it is. */
  get: () => current,
  /** What the address named when the page was loaded. */
  named,
  /** The slug or id of the latest organization of this tab. */
  latest: () => sessionStorage.getItem(LATEST),
  /** Fixes the organization of this tab. Requests name its id, because its slug can change. */
  use({ databaseId, slug }: Organization, { isOneOfSeveral }: { readonly isOneOfSeveral: boolean }): void {
    current = databaseId;
    inAddress = isOneOfSeveral ? (slug ?? databaseId) : null;
    sessionStorage.setItem(LATEST, slug ?? databaseId);
    const address = new URL(location.href);
    address.searchParams.delete(PARAMETER);
    history.replaceState(history.state, '', withOrganization(address.href));
  },
};

interface Organization {
  readonly databaseId: string;
  readonly slug: string | null;
}

/** Opens a path in an organization, or without one where the gateway chooses it. */
export function openIn(name: string | null, path: string): void {
  const address = new URL(path, location.origin);
  if (name === null) sessionStorage.removeItem(LATEST);
  else address.searchParams.set(PARAMETER, name);
  leaveFor(address.href);
}

let isLeaving = false;
// The back button can bring the page back as it was.
addEventListener('pageshow', () => {
  isLeaving = false;
});

/** Opens another document. The first one counts: what fails because the tab is about to leave must not lead it elsewhere. */
export function leaveFor(address: string): void {
  if (isLeaving) return;
  isLeaving = true;
  location.assign(address);
}

/** A link in the organization of this tab, so that it opens there in another tab too. Other links stay as they are. */
export function withOrganization(href: string): string {
  if (inAddress === null || !/^(?:\/(?!\/)|https?:)/.test(href)) return href;
  const address = new URL(href, location.origin);
  if (address.origin !== location.origin || address.searchParams.has(PARAMETER)) return href;
  address.searchParams.set(PARAMETER, inAddress);
  return href.startsWith('/') ? address.pathname + address.search + address.hash : address.href;
}

/** Whether a link leads to another organization than that of this tab. */
export function isElsewhere(search: string): boolean {
  const wanted = new URLSearchParams(search).get(PARAMETER);
  return wanted !== null && wanted !== current && wanted !== inAddress;
}
