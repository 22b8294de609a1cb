/** The fewest days that organizations keep their audit logs. */

const AUDIT_BOUNDS = ['AUDIT_RETENTION_DAYS', 'RETENTION_MAX_DAYS'] as const;
const USUAL_FLOOR = 90;

type Bounds = Readonly<Record<(typeof AUDIT_BOUNDS)[number], number>> & {
  readonly AUDIT_RETENTION_MIN_DAYS?: number | undefined;
};

/** What is wrong with the settings; undefined if nothing is. */
export function auditFloorFault(config: Bounds): string | undefined {
  const { AUDIT_RETENTION_MIN_DAYS: floor = 0 } = config;
  const lower = AUDIT_BOUNDS.find((name) => config[name] !== 0 && config[name] < floor);
  return lower && `AUDIT_RETENTION_MIN_DAYS: must not be more than ${lower}`;
}

/** The fewest days that an organization can set for its audit log, and the setting that makes it fewer than usual. */
export function auditFloorOf(config: Bounds): {
  readonly days: number;
  readonly loweredBy?: string;
} {
  const { AUDIT_RETENTION_MIN_DAYS: given } = config;
  if (given !== undefined) return { days: given };
  const [lowest] = AUDIT_BOUNDS.filter((name) => config[name] !== 0 && config[name] < USUAL_FLOOR).toSorted(
    (one, other) => config[one] - config[other],
  );
  return lowest ? { days: config[lowest], loweredBy: lowest } : { days: USUAL_FLOOR };
}
