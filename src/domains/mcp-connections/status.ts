/** The status of a connection. `STORED` is for stdio connections, the others are for remote servers. */
export const STATUSES = [
  'STORED',
  'PENDING_AUTHORIZATION',
  'CONNECTED',
  'AUTHORIZATION_REQUIRED',
  'UNREACHABLE',
  'MISCONFIGURED',
] as const;
export type Status = (typeof STATUSES)[number];

/** The next step for each status. */
export const NEXT_ACTIONS = ['NONE', 'COMPLETE_AUTHORIZATION', 'AUTHORIZE', 'TEST', 'UPDATE'] as const;
export type NextAction = (typeof NEXT_ACTIONS)[number];

const ACTION_OF: Readonly<Record<Status, NextAction>> = {
  STORED: 'NONE',
  PENDING_AUTHORIZATION: 'COMPLETE_AUTHORIZATION',
  CONNECTED: 'NONE',
  AUTHORIZATION_REQUIRED: 'AUTHORIZE',
  UNREACHABLE: 'TEST',
  MISCONFIGURED: 'UPDATE',
};

/** How long a pending authorization is valid. */
export const AUTHORIZATION_LIFETIME_MS = 10 * 60 * 1000;

export interface Standing {
  readonly status: Status;
  readonly statusReason: string | null;
  readonly nextAction: NextAction;
}

/** The current status. A pending authorization that has expired becomes `AUTHORIZATION_REQUIRED`, although its row does not change. */
export function standingOf(
  row: {
    readonly status: Status;
    readonly statusReason?: string | null;
    readonly authorizationExpiresAt?: Date | string | null;
  },
  now: Date,
): Standing {
  const isLate =
    row.status === 'PENDING_AUTHORIZATION' &&
    row.authorizationExpiresAt != null &&
    new Date(row.authorizationExpiresAt) <= now;
  const status = isLate ? 'AUTHORIZATION_REQUIRED' : row.status;
  const statusReason = isLate ? 'the authorization was not completed within 10 minutes' : (row.statusReason ?? null);
  return { status, statusReason, nextAction: ACTION_OF[status] };
}
