import { type RawBuilder, sql } from 'kysely';
import { type Actor, requireOrganization } from '../../core/access.ts';
import type { GroupId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { GroupTables } from '../groups/public.ts';
import type { ConnectionAccess, TOOL_CHANGES, ToolEffect, ToolPolicy, ToolRule } from './entity.ts';

/** Who may use a connection, and which of its tools: one decision for lists and calls, at every address. */

/** Whether `access` opens the connection `c` to an account: it is for all, or names a group of the account. */
export const isOpenTo = ({ userId, organizationId }: Account): RawBuilder<boolean> =>
  sql<boolean>`(c.access ->> 'mode' = 'ALL' or exists (select from person_group_member as g where g.user_id = ${userId}
    and g.organization_id = ${organizationId} and c.access -> 'groupIds' @> to_jsonb(g.group_id)))`;

/** Ids, or parameters of a prepared query. */
interface Account {
  readonly userId: unknown;
  readonly organizationId: unknown;
}

/** The groups of the account, where the rules of the connection `c` can name them. */
export const groupsForRules = ({ userId, organizationId }: Account): RawBuilder<GroupId[]> =>
  sql<GroupId[]>`case when c.tool_rules = '[]' then '{}' else array(select g.group_id from person_group_member as g
    where g.user_id = ${userId} and g.organization_id = ${organizationId}) end`;

const groupsOf = new WeakMap<OperationContext, Promise<ReadonlySet<GroupId>>>();

/** The groups of the caller, read once in a request. */
export function callerGroups(context: OperationContext): Promise<ReadonlySet<GroupId>> {
  const { sql: reader, actor } = context;
  let groups = groupsOf.get(context);
  if (!groups) {
    const query = queriesOn<GroupTables>()
      .selectFrom('person_group_member')
      .select('group_id as id')
      .where('user_id', '=', actor.userId)
      .where('organization_id', '=', requireOrganization(actor).id);
    groups = reader.primary.all(query).then((rows) => new Set(rows.map(({ id }) => id)));
    groupsOf.set(context, groups);
  }
  return groups;
}

const isIn = (groups: ReadonlySet<GroupId>, groupIds: readonly GroupId[]) => groupIds.some((id) => groups.has(id));

/** Whether `access` opens a connection to an account in these groups. */
export const opensTo = ({ mode, groupIds }: ConnectionAccess, groups: ReadonlySet<GroupId>): boolean =>
  mode === 'ALL' || isIn(groups, groupIds);

/** What decides about the tools of a connection for one account: the rules that count for it. */
export interface ToolRules {
  readonly toolPolicy: ToolPolicy;
  readonly toolRules: readonly ToolRule[];
  readonly onToolChange: (typeof TOOL_CHANGES)[number];
  /** Where tools are held until they are accepted: whether one is. A caller that does not know it yet asks for the list of the server first. */
  readonly isHeld?: ((tool: string) => boolean) | undefined;
}

/** Those of the rules that count for an account in these groups. */
export const rulesFor = (rules: readonly ToolRule[], groups: ReadonlySet<GroupId>): readonly ToolRule[] =>
  rules.filter(({ groupIds }) => groupIds.length === 0 || isIn(groups, groupIds));

/** What may be done with a tool: after the policy, the first rule that names it decides. Without one it is allowed. */
export function effectOf({ toolPolicy, toolRules, isHeld }: ToolRules, tool: string): ToolEffect {
  if ((toolPolicy.mode !== 'ALL' && !toolPolicy.names.includes(tool)) || isHeld?.(tool) === true) return 'DENY';
  const rule = toolRules.find(({ tools, effect }) => tools.some((pattern) => isNamed(pattern, tool, effect)));
  return rule?.effect ?? 'ALLOW';
}

/** A name that differs in case may be the same tool for the server. Only what is allowed must be named exactly. */
function isNamed(pattern: string, tool: string, effect: ToolEffect): boolean {
  const [named, name] = effect === 'ALLOW' ? [pattern, tool] : [withoutCase(pattern), withoutCase(tool)];
  return named.endsWith('*') ? name.startsWith(named.slice(0, -1)) : name === named;
}

/** Upper case first, which joins forms of a letter that differ in lower case. */
const withoutCase = (name: string): string => name.normalize('NFKC').toUpperCase().toLowerCase();

/** Whether any tool may be denied. Then what a message names must be what the server reads in it. */
export const isRestricted = ({ toolPolicy, toolRules, onToolChange }: ToolRules): boolean =>
  toolPolicy.mode !== 'ALL' || toolRules.length > 0 || onToolChange === 'HOLD';

/** What the decision about a connection needs of its row, for a caller in any groups. */
export interface RuledConnection extends ToolRules {
  readonly access: ConnectionAccess;
}

/** The rules of a connection for the caller; undefined if they may not use it. */
export async function callerRules(
  context: OperationContext,
  { access, toolRules, ...rules }: RuledConnection,
): Promise<ToolRules | undefined> {
  const isForAll = access.mode === 'ALL' && toolRules.every(({ groupIds }) => groupIds.length === 0);
  const groups = isForAll ? new Set<GroupId>() : await callerGroups(context);
  return opensTo(access, groups) ? { ...rules, toolRules: rulesFor(toolRules, groups) } : undefined;
}

/** Whether the caller can use a connection that they can see. */
export const mayUse = async (
  context: OperationContext & { readonly actor: Actor },
  { access }: Pick<RuledConnection, 'access'>,
): Promise<boolean> =>
  context.actor.scopes.has('mcp_connections.use') &&
  (access.mode === 'ALL' || opensTo(access, await callerGroups(context)));
