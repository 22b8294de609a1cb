import { withOrganization } from './address.ts';
import { latestOf, visit } from './visits.ts';

/** Opens a page of the console without loading the console again. */
export const goTo = (path: string): void => visit(withOrganization(path));

/** Opens a list with the filters that it had last. */
export const goToList = (path: string): void => visit(latestOf(path) ?? withOrganization(path));

/** The list of sessions behind a number. The days of the overview are in UTC, those of the list in the time zone of the reader. */
export function sessionsOf(filter: Readonly<Record<string, string>>): string {
  const isOfDays = 'from' in filter || 'to' in filter || 'seen' in filter;
  return `/sessions?${new URLSearchParams({ ...filter, ...(isOfDays && { utc: 'yes' }) })}`;
}

const DAY_MS = 86_400_000;

/** A day in UTC, so many days after today, such as "2026-11-28". */
export const dayFromToday = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

/** The first day of a month in UTC, so many months after this one. */
export function firstOfMonth(months: number): string {
  const today = new Date();
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + months)).toISOString().slice(0, 10);
}
