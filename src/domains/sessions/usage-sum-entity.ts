import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { UserId } from '../../core/ids.ts';
import { Organization } from '../organizations/public.ts';

const UsageSumSchema = defineEntity({
  name: 'UsageSum',
  tableName: 'usage_sum',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    /** In UTC. */
    day: p.date().primary(),
    /** Identifies agent, model, project, creator and tool, whose texts together are too long for an index. */
    key: p.uuid().primary(),
    /** Spreads concurrent changes over several rows; a job adds them up when the day is over. */
    slot: p.smallint().primary(),
    /** Null for none, like the next four. */
    agent: p.text().nullable(),
    model: p.text().nullable(),
    projectId: p.text().nullable(),
    /** Without a foreign key: the deletion of an account adds the sums of its user to those without creator. */
    creatorId: p.uuid().$type<UserId>().nullable(),
    tool: p.text().nullable(),
    sessions: p.bigint('number').nullable(),
    failedSessions: p.bigint('number').nullable(),
    inputTokens: p.bigint('number').nullable(),
    outputTokens: p.bigint('number').nullable(),
    cachedInputTokens: p.bigint('number').nullable(),
    cacheWriteTokens: p.bigint('number').nullable(),
    costUsd: p.double().nullable(),
    turns: p.bigint('number').nullable(),
    toolCalls: p.bigint('number').nullable(),
    toolErrors: p.bigint('number').nullable(),
    durationMs: p.bigint('number').nullable(),
  },
  indexes: [
    { name: 'usage_sum_creator_index', properties: ['creatorId'], where: 'creator_id is not null' },
    { name: 'usage_sum_slot_index', properties: ['day'], where: 'slot > 0' },
  ],
});

/** What the sessions of a day have used. Written with what it counts, so that it stays when the sessions are deleted. */
export class UsageSum extends UsageSumSchema.class {}
UsageSumSchema.setClass(UsageSum);

export type UsageSumTables = InferKyselyDB<typeof UsageSumSchema>;
