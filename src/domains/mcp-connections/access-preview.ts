import { sql } from 'kysely';
import { z } from 'zod';
import { requireOrganization } from '../../core/access.ts';
import { groupBy } from '../../core/arrays.ts';
import type { GroupId, UserId } from '../../core/ids.ts';
import { parseInput } from '../../core/input/validation.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { mayManage } from './policy.ts';
import type { McpConnectionRow } from './queries.ts';
import { access, onToolChange, toolRules } from './settings-input.ts';
import { readTools } from './tool-operations.ts';
import { effectOf, opensTo, rulesFor } from './tool-rules.ts';

/** Accounts that one preview shows. */
const MAX_ACCOUNTS = 1_000;

const previewInput = z.strictObject({
  access: access.nullish(),
  toolRules: toolRules.nullish(),
  onToolChange: onToolChange.nullish(),
});

/** Accounts that could do the same. */
export interface ToolAccess {
  readonly accountIds: readonly UserId[];
  readonly allowed: readonly string[];
  readonly asked: readonly string[];
}

/** Who could call what, by settings that need not be stored yet. Null for callers who cannot change them. */
export async function previewToolAccess(
  context: OperationContext,
  row: McpConnectionRow,
  given: object,
): Promise<readonly ToolAccess[] | null> {
  if (!mayManage(context.actor, row)) return null;
  const input = parseInput(previewInput, given);
  const tools = (await readTools(context, row))?.tools ?? [];
  const rules = input.toolRules ?? row.toolRules;
  const open = input.access ?? row.access;
  const atChange = input.onToolChange ?? row.onToolChange;
  const { id } = requireOrganization(context.actor);
  const accounts = await context.sql.all(
    queriesOn<object>()
      .selectFrom(
        sql<{
          id: UserId;
        }>`(select user_id as id from membership where organization_id = ${id} and role <> 'viewer' union all
          select id from user_account where service_organization_id = ${id} and service_deleted_at is null
            and service_role <> 'viewer')`.as<'a'>(sql`a`),
      )
      .select(['a.id'])
      .select(
        sql<GroupId[]>`array(select g.group_id from person_group_member as g where g.user_id = a.id
          and g.organization_id = ${id})`.as('groups'),
      )
      .where(sql<boolean>`${row.visibility === 'shared'} or a.id = ${row.ownerId}`)
      .orderBy('a.id')
      .limit(MAX_ACCOUNTS),
  );
  const shown = accounts.map(({ id: accountId, groups }) => {
    const own = { ...row, toolRules: rulesFor(rules, new Set(groups)) };
    const isOpen = opensTo(open, new Set(groups));
    const named = (effect: string) =>
      tools.flatMap(({ name, definition }) => {
        const isHeld = atChange === 'HOLD' && definition.state !== 'ACCEPTED';
        return isOpen && !isHeld && effectOf(own, name) === effect ? [name] : [];
      });
    return { accountId, allowed: named('ALLOW'), asked: named('ASK') };
  });
  const alike = groupBy(shown, ({ allowed, asked }) => JSON.stringify([allowed, asked]));
  return [...alike.values()].map((each) => ({
    accountIds: each.map(({ accountId }) => accountId),
    allowed: each[0]?.allowed ?? [],
    asked: each[0]?.asked ?? [],
  }));
}
