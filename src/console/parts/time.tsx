import type { ComponentProps } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Times in the locale and the time zone of the reader. */

/** The languages of the browser, of which `Intl` takes the first that it knows. */
const LOCALES = [...navigator.languages];
const relative = new Intl.RelativeTimeFormat(LOCALES, { numeric: 'auto' });
const relativeShort = new Intl.RelativeTimeFormat(LOCALES, { numeric: 'auto', style: 'short' });
const exact = new Intl.DateTimeFormat(LOCALES, { dateStyle: 'full', timeStyle: 'long' });
const thisYear = new Intl.DateTimeFormat(LOCALES, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const otherYear = new Intl.DateTimeFormat(LOCALES, { dateStyle: 'medium', timeStyle: 'short' });
const hourEnd = new Intl.DateTimeFormat(LOCALES, { hour: '2-digit', minute: '2-digit' });
const language = relative.resolvedOptions().locale;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAYS_OF_MONTH = 30;
const DAYS_OF_YEAR = 365;

/** How long ago something was, or how soon it is. Days are those of the calendar, so that "yesterday" is yesterday. */
export function relativeTime(at: Date, now: Date, words = relative): string {
  const ms = at.getTime() - now.getTime();
  // The clock of the gateway can be ahead, and what has just happened is not to come.
  if (ms > 0 && ms < MINUTE_MS) return words.format(0, 'second');
  if (Math.abs(ms) < MINUTE_MS) return words.format(Math.trunc(ms / 1000), 'second');
  if (Math.abs(ms) < HOUR_MS) return words.format(Math.trunc(ms / MINUTE_MS), 'minute');
  const days = Math.round((dayOf(at) - dayOf(now)) / DAY_MS);
  if (days === 0) return words.format(Math.trunc(ms / HOUR_MS), 'hour');
  if (Math.abs(days) < DAYS_OF_MONTH) return words.format(days, 'day');
  if (Math.abs(days) < DAYS_OF_YEAR) return words.format(Math.trunc(days / DAYS_OF_MONTH), 'month');
  return words.format(Math.trunc(days / DAYS_OF_YEAR), 'year');
}

/** Midnight of the local day, as if it were UTC, because days of the calendar can have 23 or 25 hours. */
const dayOf = (at: Date): number => Date.UTC(at.getFullYear(), at.getMonth(), at.getDate());

/** Date and time; the year only if it is another one. A line break never separates "AM" from its hour. */
export function shortTime(at: Date, now: Date): string {
  const parts = (at.getFullYear() === now.getFullYear() ? thisYear : otherYear).formatToParts(at);
  return parts
    .map(({ value }, index) => (parts[index + 1]?.type === 'dayPeriod' ? value.replaceAll(' ', '\u00a0') : value))
    .join('');
}

const TICK_MS = 5_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The current time. The component is rendered again from time to time; all share one timer. */
function useNow(): Date {
  const [, setTicks] = useState(0);
  useEffect(() => {
    const tick = () => setTicks((count) => count + 1);
    listeners.add(tick);
    timer ??= setInterval(() => {
      for (const listener of listeners) listener();
    }, TICK_MS);
    return () => {
      listeners.delete(tick);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return new Date();
}

interface TimeProps {
  readonly at: string | null | undefined;
  /** Whether only how long ago it is is shown, with the date as a title. */
  readonly isShort?: boolean;
}

/** Date, time and how long ago that is. */
export function Time({ at, isShort = false }: TimeProps) {
  const now = useNow();
  if (!at) return <span class="soft">–</span>;
  const date = new Date(at);
  return (
    <time datetime={at} title={exact.format(date)} lang={language}>
      {isShort || `${shortTime(date, now)} `}
      <span class={isShort ? undefined : 'ago'}>{relativeTime(date, now, isShort ? relativeShort : relative)}</span>
    </time>
  );
}

/** A cell of a table with a time; the table gives it its other attributes. */
export const TimeCell = ({ at, isShort = false, ...attributes }: TimeProps & ComponentProps<'td'>) => (
  <td {...attributes}>
    <Time at={at} isShort={isShort} />
  </td>
);

/** An hour of a day: what is counted by the hour happened some time in it. */
export function Hour({ at }: { readonly at: string }) {
  const date = new Date(at);
  const next = new Date(date.getTime() + HOUR_MS);
  return (
    <time datetime={at} title={exact.format(date)} lang={language}>
      {shortTime(date, useNow())} – {hourEnd.format(next)}
    </time>
  );
}
