import { withOrganization } from './address.ts';

/** Opens a page of the console without loading the console again. */
export function goTo(path: string): void {
  history.pushState(null, '', withOrganization(path));
  dispatchEvent(new PopStateEvent('popstate'));
  scrollTo(0, 0);
}
