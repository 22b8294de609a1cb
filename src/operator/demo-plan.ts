import { DAY_MS } from '../core/text/timestamps.ts';
import type { SessionState } from '../domains/sessions/public.ts';

/** A session of the demo workspace: who did what, when, and how it ended. */
export interface PlannedSession {
  readonly title: string;
  readonly agent: string;
  /** The recorded run that it repeats. */
  readonly run: string;
  readonly project: (typeof PROJECTS)[number];
  /** Index of the person who has started it. */
  readonly person: number;
  readonly startedAt: Date;
  readonly state: SessionState;
  /** How much more the session uses than the recorded run. */
  readonly factor: number;
}

const DAYS = 30;
const HOUR_MS = 3_600_000;
/** The days of a week, Sunday first. */
const SESSIONS_OF_DAY = [3, 8, 9, 8, 9, 7, 3];
/** The last sessions of today. The others end as chance decides. */
const LAST_STATES: readonly SessionState[] = ['queued', 'inProgress', 'inProgress'];

export const PROJECTS = [
  { name: 'Shop', icon: 'bug', color: 'teal' },
  { name: 'Billing', icon: 'database', color: 'purple' },
  { name: 'Website', icon: 'globe', color: 'orange' },
] as const;
const [SHOP, BILLING, WEBSITE] = PROJECTS;

interface Agent {
  readonly name: string;
  readonly run: string;
  readonly projects: readonly (typeof PROJECTS)[number][];
  readonly titles: readonly string[];
  /** Of 100 sessions of all agents. */
  readonly share: number;
  /** Of 100 sessions of this agent. */
  readonly failures: number;
}

const AGENTS: readonly Agent[] = [
  {
    name: 'coder',
    run: 'edit',
    projects: [SHOP, SHOP, BILLING, WEBSITE],
    titles: [
      'Round the lines of an invoice',
      'Accept two coupons in one cart',
      'Move the tax rates to the database',
      'Show the delivery date in the cart',
      'Remove the old payment form',
      'Upgrade the template engine',
    ],
    share: 38,
    failures: 9,
  },
  {
    name: 'reviewer',
    run: 'review',
    projects: [BILLING, SHOP],
    titles: ['Review the renamed totals', 'Review the new refund endpoint', 'Review the upgrade of Node.js'],
    share: 24,
    failures: 4,
  },
  {
    name: 'tester',
    run: 'test',
    projects: [SHOP, WEBSITE],
    titles: ['Mend the flaky checkout test', 'Try the cart on a phone', 'Test the search with umlauts'],
    share: 18,
    failures: 15,
  },
  {
    name: 'writer',
    run: 'write',
    projects: [WEBSITE],
    titles: ['Write the page about refunds', 'Write the release notes', 'Shorten the terms of delivery'],
    share: 12,
    failures: 3,
  },
  {
    name: 'researcher',
    run: 'research',
    projects: [BILLING, WEBSITE],
    titles: ['Compare the fees of payment providers', 'Find the rules for invoices in France'],
    share: 8,
    failures: 32,
  },
];

/** The sessions of a month until now, oldest first. They are the same each time, except for their days. */
export function planSessions(now: Date, people: number): PlannedSession[] {
  const chance = numbers();
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)] as Item;
  const pickAgent = (): Agent => {
    let left = chance() * 100;
    return AGENTS.find(({ share }) => (left -= share) < 0) ?? pick(AGENTS);
  };
  const planned = daysUntil(now).flatMap((day) => {
    const count = SESSIONS_OF_DAY[day.getUTCDay()] ?? 0;
    return Array.from({ length: count }, (): PlannedSession => {
      const agent = pickAgent();
      const fate = chance() * 100;
      return {
        title: pick(agent.titles),
        agent: agent.name,
        run: agent.run,
        project: pick(agent.projects),
        person: Math.floor(chance() ** 2 * people),
        startedAt: new Date(Math.min(day.getTime() + (7 + chance() * 11) * HOUR_MS, now.getTime() - HOUR_MS)),
        state: fate < agent.failures ? 'failed' : fate > 96 ? 'cancelled' : 'completed',
        factor: 0.4 + 4 * chance() ** 3,
      };
    });
  });
  planned.sort((one, other) => one.startedAt.getTime() - other.startedAt.getTime());
  return withLastStates(planned, now);
}

/** Some sessions have not ended yet, and one has failed in the last day, whatever chance decides. */
function withLastStates(planned: readonly PlannedSession[], now: Date): PlannedSession[] {
  const first = planned.length - LAST_STATES.length;
  const failed = planned.findIndex(({ startedAt }) => now.getTime() - startedAt.getTime() < DAY_MS + 4 * HOUR_MS);
  return planned.map((session, index) => {
    const last = LAST_STATES[index - first];
    if (last)
      return {
        ...session,
        state: last,
        startedAt: new Date(now.getTime() - (LAST_STATES.length - index + first) * 240_000),
      };
    return index === failed ? { ...session, state: 'failed' } : session;
  });
}

/** Midnight (UTC) of each day. */
function daysUntil(now: Date): Date[] {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  return Array.from({ length: DAYS }, (_, index) => new Date(today - (DAYS - 1 - index) * DAY_MS));
}

/** Numbers from 0 to 1 that look random, and are the same each time. */
function numbers(): () => number {
  let state = 20_251;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
