import { Migration } from '@mikro-orm/migrations';

export class Migration20261128053644 extends Migration {
  override name = 'Migration20261128053644';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "usage_sum" ("organization_id" uuid not null, "day" date not null, "key" uuid not null, "slot" smallint not null, "agent" text null, "model" text null, "project_id" text null, "creator_id" uuid null, "tool" text null, "sessions" bigint null, "failed_sessions" bigint null, "input_tokens" bigint null, "output_tokens" bigint null, "cached_input_tokens" bigint null, "cache_write_tokens" bigint null, "cost_usd" double precision null, "turns" bigint null, "tool_calls" bigint null, "tool_errors" bigint null, "duration_ms" bigint null, primary key ("organization_id", "day", "key", "slot"));`,
    );
    this.addSql(`create index "usage_sum_creator_index" on "usage_sum" ("creator_id") where creator_id is not null;`);
    this.addSql(`create index "usage_sum_slot_index" on "usage_sum" ("day") where slot > 0;`);

    this.addSql(
      `alter table "usage_sum" add constraint "usage_sum_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    // Existing sessions: by their times of creation, last failure and last event. Their models and tools are not known without their events.
    const key = `encode(substring(sha256(convert_to(json_build_array(agent, project_id, creator_id, null, null)::text, 'UTF8')) for 16), 'hex')::uuid`;
    const amounts =
      'input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, cost_usd, turns, tool_calls, tool_errors, duration_ms';
    const summed = ['sessions', 'failed_sessions', ...amounts.split(', ')]
      .map((amount) => `sum(${amount})::${amount === 'cost_usd' ? 'double precision' : 'bigint'}`)
      .join(', ');
    const dayOf = (time: string) => `(${time} at time zone 'utc')::date`;
    this.addSql(`insert into "usage_sum" (organization_id, day, key, slot, agent, project_id, creator_id, sessions, failed_sessions, ${amounts})
      select organization_id, day, ${key}, 0, agent, project_id, creator_id, ${summed}
      from "session" as s
      join lateral (
        select ${dayOf('s.created_at')} as day, 1 as sessions, null::int as failed_sessions, ${amounts
          .split(', ')
          .map((amount) => `null::${amount === 'cost_usd' ? 'double precision' : 'bigint'} as ${amount}`)
          .join(', ')}
        union all select ${dayOf('s.updated_at')}, null, 1, null, null, null, null, null, null, null, null, null where s.state = 'failed'
        union all select ${dayOf('s.last_seen_at')}, null, null, ${amounts} from "session_stream" as h
          where h.session_id = s.id and h.organization_id = s.organization_id and num_nonnulls(${amounts}) > 0
      ) as counted on true
      group by organization_id, day, agent, project_id, creator_id;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "usage_sum" cascade;`);
  }
}
