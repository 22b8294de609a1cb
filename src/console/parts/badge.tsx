import { Icon, type IconName } from './icons.tsx';

/** The states of objects as words with a color and an icon. */

const TONES: Readonly<Record<string, string>> = {
  COMPLETED: 'good',
  CONNECTED: 'good',
  SUCCEEDED: 'good',
  DELIVERING: 'good',
  OK: 'good',
  FAILED: 'bad',
  DISABLED: 'bad',
  TOOL_ERROR: 'bad',
  JSON_RPC_ERROR: 'bad',
  TRANSPORT_ERROR: 'bad',
  HELD: 'warn',
  HANDLED: 'good',
  UNREACHABLE: 'bad',
  MISCONFIGURED: 'bad',
  FORBIDDEN: 'bad',
  KEY_EXPIRED: 'bad',
  KEY_REVOKED: 'bad',
  LAST_ADMINISTRATOR: 'bad',
  DONE: 'good',
  RUNNING: 'busy',
  QUEUED: 'busy',
  WAITING: 'busy',
  IN_PROGRESS: 'busy',
  PENDING_AUTHORIZATION: 'warn',
  AUTHORIZATION_REQUIRED: 'warn',
  FAILING: 'warn',
  PENDING: 'warn',
  APPROVED: 'good',
  DENIED: 'bad',
  CHANGED: 'warn',
  NEW: 'warn',
};

/** An enumeration value as text: `IN_PROGRESS` becomes "In progress". */
export function wordsOf(value: string): string {
  const words = value.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const ICONS: Readonly<Record<string, IconName>> = {
  good: 'completed',
  bad: 'failed',
  warn: 'warning',
  busy: 'running',
  QUEUED: 'queued',
  WAITING: 'queued',
  CANCELLED: 'cancelled',
  STORED: 'connection',
};

export function Badge({ value }: { readonly value: string }) {
  const tone = TONES[value] ?? '';
  const icon = ICONS[value] ?? ICONS[tone];
  return (
    <span class={`badge ${tone}`}>
      {icon && <Icon name={icon} />}
      {wordsOf(value)}
    </span>
  );
}
