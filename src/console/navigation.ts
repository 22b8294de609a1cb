import { withOrganization } from './address.ts';

/** Opens a page of the console without loading the console again. */
export function goTo(path: string): void {
  history.pushState(null, '', withOrganization(path));
  dispatchEvent(new PopStateEvent('popstate'));
  scrollTo(0, 0);
}

/** The list of sessions behind a number. The days of the overview are in UTC, those of the list in the time zone of the reader. */
export function sessionsOf(filter: Readonly<Record<string, string>>): string {
  const isOfDays = 'from' in filter || 'to' in filter;
  return `/sessions?${new URLSearchParams({ ...filter, ...(isOfDays && { utc: 'yes' }) })}`;
}
