import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { keysOf } from '../../core/keys-of.ts';
import { isUuid } from '../../core/ids.ts';
import { PROJECTS, READ_SESSIONS } from '../sessions/public.ts';
import { readVisibleActors } from '../users/public.ts';
import { type UsageGroup, type UsageReportInput, usageReportInput } from './input.ts';
import { type Condition, type UsageAmounts, ofEachAmount, usageRows } from './queries.ts';

export interface UsageRow extends UsageAmounts {
  readonly key: string | null;
  readonly label: string;
}

export interface UsageReport {
  readonly rows: readonly UsageRow[];
  readonly totals: UsageAmounts;
}

export const readUsageReport = defineOperation({
  name: 'readUsageReport',
  description:
    'Sums what sessions have used: by day, agent, model, project, creator or tool. Sessions count on the day of their creation, failures on the day of the transition, all else on the day of recording; the days are in UTC. The sums stay when sessions are deleted. Administrators see all sums of the organization, members those of the sessions that they have created.',
  access: READ_SESSIONS,
  input: usageReportInput,
  run: async (context, { from, before, groupBy: given, filter }: UsageReportInput): Promise<UsageReport> => {
    const { id: organizationId, role } = requireOrganization(context.actor);
    const groupBy = given ?? 'DAY';
    const conditions: Partial<Record<Condition, readonly string[]>> = {};
    for (const name of keysOf(filter ?? {})) if (filter?.[name] != null) conditions[name] = filter[name];
    const shape = { groupBy, given: keysOf(conditions), isOwn: role !== 'admin' };
    const { userId } = context.actor;
    const sums = await context.sql.all(
      usageRows(shape, { ...conditions, organizationId, userId, from, until: before }),
    );
    const countsSessions = groupBy !== 'MODEL' && groupBy !== 'TOOL' && conditions.models === undefined;
    const rows = sums.map((row) => asReported(row, countsSessions));
    const keys = rows.flatMap(({ key }) => key ?? []);
    const labels = await labelsOf(context, groupBy, keys);
    return {
      rows: rows.map(({ isRest, key, ...amounts }) =>
        isRest
          ? { key: 'other', label: 'other', ...amounts }
          : { key, label: (key !== null && labels.get(key)) || (key ?? 'none'), ...amounts },
      ),
      totals: totalsOf(sums, conditions.models === undefined),
    };
  },
});

/** Digits of a cost that adding floating-point numbers leaves exact. */
const COST_DIGITS = 12;

/** Sessions are counted and not reported, so that none are 0 where they are counted at all. */
function asReported<Row extends UsageAmounts>(row: Row, isCounted: boolean): Row {
  const count = (amount: number | null) => (isCounted ? (amount ?? 0) : null);
  const costUsd = row.costUsd === null ? null : Number(row.costUsd.toPrecision(COST_DIGITS));
  return { ...row, sessions: count(row.sessions), failedSessions: count(row.failedSessions), costUsd };
}

function totalsOf(rows: readonly UsageAmounts[], countsSessions: boolean): UsageAmounts {
  const totals = ofEachAmount((field) => {
    const amounts = rows.map((row) => row[field]).filter((amount) => amount !== null);
    return amounts.length === 0 ? null : amounts.reduce((sum, amount) => sum + amount, 0);
  });
  return asReported(totals, countsSessions);
}

/** The labels of keys that are ids of what the caller can see. */
export async function labelsOf(
  context: OperationContext,
  groupBy: UsageGroup,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (groupBy === 'PROJECT') {
    const projects = await PROJECTS.find(context, keys.filter(isUuid), ['name']);
    return new Map(projects.map(({ id, name }) => [id, name]));
  }
  if (groupBy !== 'CREATOR') return new Map();
  const creators = await readVisibleActors(context, keys, ['email', 'name']);
  return new Map(
    creators.flatMap(({ id, email, name, role }) => {
      const label = role === null ? email : name;
      return label === null ? [] : [[id, label]];
    }),
  );
}
