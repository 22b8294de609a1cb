import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGroup } from '../../support/fixtures/groups.ts';
import { type ServedGateway, startServedGateway } from '../../support/fixtures/served-gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { ADDRESSES, type Place, callAt, listAt } from '../../support/fixtures/tool-addresses.ts';
import { type ApprovalFixture, startApprovalFixture } from '../../support/fixtures/tool-approvals.ts';
import { tool } from '../../support/peers/listing-server.ts';

/** Random rules, groups, definitions, decisions and calls by every address of two gateways, against a model. */

let fixture: ApprovalFixture;
let second: ServedGateway;
let other: string;
const places: Place[] = [];
const NAMES = ['read', 'write', 'write_all'];
beforeAll(async () => {
  fixture = await startApprovalFixture();
  second = await startServedGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: fixture.gateway });
  other = (await createGroup(fixture.gateway, fixture.key, { name: 'Callers' })).id;
  places.push(fixture.place, { ...fixture.place, gateway: second, url: second.url });
});
afterAll(() => fixture.stop());

const group = fc.constantFrom<'approvers' | 'callers'>('approvers', 'callers');
const rule = fc.record({
  tools: fc.subarray(['read', 'WRITE', 'write*', 'write', '*'], { minLength: 1 }),
  groups: fc.subarray<'approvers' | 'callers'>(['approvers', 'callers']),
  effect: fc.constantFrom('ALLOW', 'ASK', 'DENY'),
});
type Rule = typeof rule extends fc.Arbitrary<infer Value> ? Value : never;
const place = fc.record({
  address: fc.constantFrom(...ADDRESSES),
  gateway: fc.nat(1),
  name: fc.constantFrom(...NAMES),
  n: fc.nat(1),
});
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('call' as const), place }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('decide' as const), approve: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rules' as const), rules: fc.array(rule, { maxLength: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('access' as const),
      groups: fc.option(fc.subarray<'approvers' | 'callers'>(['approvers', 'callers'])),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('hold' as const), isHeld: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('member' as const),
      who: fc.constantFrom<'caller' | 'approver'>('caller', 'approver'),
      group,
      isIn: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      name: fc.constantFrom(...NAMES),
      text: fc.constantFrom('first', 'other'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('accept' as const), name: fc.constantFrom(...NAMES) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), minutes: fc.constantFrom(2, 16) }) },
);

interface Approval {
  readonly id: string;
  readonly call: string;
  readonly until: number;
  state: 'PENDING' | 'APPROVED' | 'DENIED' | 'USED';
}

/** What the gateway should know, in the plainest form. */
class Model {
  rules: readonly Rule[] = [];
  access: readonly string[] | null = null;
  isHeld = false;
  now = Date.now();
  readonly members = { caller: new Set<string>(), approver: new Set(['approvers']) };
  readonly texts = new Map(NAMES.map((name) => [name, 'first']));
  readonly accepted = new Map(NAMES.map((name) => [name, 'first']));
  readonly approvals: Approval[] = [];

  effectOf(name: string): string {
    const groups = this.members.caller;
    if (this.access && !this.access.some((each) => groups.has(each))) return 'MISSING';
    if (this.isHeld && this.accepted.get(name) !== this.texts.get(name)) return 'DENY';
    const named = ({ tools, effect }: Rule) =>
      tools.some((pattern) => {
        const [a, b] = effect === 'ALLOW' ? [pattern, name] : [pattern.toLowerCase(), name.toLowerCase()];
        return a.endsWith('*') ? b.startsWith(a.slice(0, -1)) : a === b;
      });
    const found = this.rules.find(
      (each) => named(each) && (each.groups.length === 0 || each.groups.some((id) => groups.has(id))),
    );
    return found?.effect ?? 'ALLOW';
  }

  open(call: string): Approval | undefined {
    return this.approvals.find((each) => each.call === call && each.state !== 'USED' && each.until > this.now);
  }
}

test('no call is made without its decision, no decision is used twice, and lists agree with calls', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 40 }), async (steps) => {
      const model = new Model();
      const { gateway, caller, approver, server, key } = fixture;
      const idOf = { approvers: fixture.group, callers: other };
      const describe = () =>
        (server.tools = [...model.texts].map(([name, description]) => tool(name, { description })));
      const setClocks = () => [gateway, second].forEach((each) => each.setProcessClock(new Date(model.now)));
      const setMembers = async (name: 'approvers' | 'callers') =>
        fixture.setMembers(
          (['caller', 'approver'] as const).flatMap((who) =>
            model.members[who].has(name) ? [fixture[who].userId] : [],
          ),
          idOf[name],
        );
      // Each run has a connection of its own, whose first list is accepted.
      describe();
      setClocks();
      await gateway.dependencies.sql.query('delete from mcp_tool_definitions', []);
      await gateway.dependencies.sql.query('delete from tool_approval', []);
      await fixture.set({
        toolRules: [],
        access: { mode: 'ALL' },
        onToolChange: 'ALLOW',
        approverGroupIds: [fixture.group],
      });
      await setMembers('approvers');
      await setMembers('callers');
      const sessionId = await createSession(gateway, caller.key, { mcpServers: [fixture.place.connectionId] });
      await listAt('own', fixture.place, caller.key);
      // What the gateway has done, beside what it should.
      const told: [actual: unknown, wanted: unknown][] = [];
      for (const each of steps) {
        if (each.kind === 'rules') {
          model.rules = each.rules;
          const toolRules = each.rules.map(({ tools, groups, effect }) => ({
            tools,
            effect,
            groupIds: groups.map((name) => idOf[name]),
          }));
          await fixture.set({ toolRules });
        } else if (each.kind === 'access') {
          model.access = each.groups;
          await fixture.set({
            access: each.groups ? { mode: 'GROUPS', groupIds: each.groups.map((name) => idOf[name]) } : { mode: 'ALL' },
          });
        } else if (each.kind === 'hold') {
          model.isHeld = each.isHeld;
          await fixture.set({ onToolChange: each.isHeld ? 'HOLD' : 'ALLOW' });
        } else if (each.kind === 'member') {
          if (each.isIn) model.members[each.who].add(each.group);
          else model.members[each.who].delete(each.group);
          await setMembers(each.group);
        } else if (each.kind === 'change') {
          model.texts.set(each.name, each.text);
          describe();
          model.now += 61_000;
          setClocks();
        } else if (each.kind === 'accept') {
          model.accepted.set(each.name, model.texts.get(each.name) ?? '');
          const path = `/v1/mcp-connections/${fixture.place.connectionId}/tool-definitions/accept`;
          told.push([(await gateway.rest('POST', path, { key, body: { names: [each.name] } })).status, 200]);
        } else if (each.kind === 'late') {
          model.now += each.minutes * 60_000;
          setClocks();
        } else if (each.kind === 'decide') {
          const pending = model.approvals.find(({ state, until }) => state === 'PENDING' && until > model.now);
          if (!pending) continue;
          const mayDecide = model.members.approver.has('approvers');
          const status = await fixture.decide(pending.id, each.approve ? 'APPROVE' : 'DENY', approver.key);
          told.push([status, mayDecide ? 200 : 404]);
          if (mayDecide) pending.state = each.approve ? 'APPROVED' : 'DENIED';
        } else {
          const { address, gateway: at, name, n } = each.place;
          const here = { ...(places[at] ?? fixture.place), sessionId };
          const before = fixture.runs();
          const outcome = await callAt(address, here, caller.key, name, { n });
          const runs = fixture.runs() - before;
          const effect = model.effectOf(name);
          const listed = await listAt(address, here, caller.key);
          const usable = NAMES.filter((tool_) => !['DENY', 'MISSING'].includes(model.effectOf(tool_)));
          told.push([listed, usable.toSorted()]);
          const seen = [outcome.kind, runs];
          if (effect === 'ALLOW') told.push([seen, ['OK', 1]]);
          else if (effect === 'DENY') told.push([seen, ['UNKNOWN', 0]]);
          else if (effect === 'MISSING') told.push([seen, [outcome.kind === 'MISSING' ? 'MISSING' : 'UNKNOWN', 0]]);
          else {
            const call = `${name} ${n} ${model.texts.get(name)}`;
            const open = model.open(call);
            const isUsable = open?.state === 'APPROVED' && model.members.approver.has('approvers');
            if (isUsable) {
              told.push([seen, ['OK', 1]]);
              open.state = 'USED';
            } else if (open?.state === 'DENIED') told.push([seen, ['OTHER', 0]]);
            else {
              told.push([seen, ['ASKED', 0]]);
              if (open?.state === 'PENDING') told.push([outcome.approvalId, open.id]);
              else {
                // Who has approved may no longer do it.
                if (open) open.state = 'USED';
                model.approvals.push({
                  id: outcome.approvalId ?? '',
                  call,
                  until: model.now + 15 * 60_000,
                  state: 'PENDING',
                });
              }
            }
          }
        }
      }
      expect(told.map(([actual]) => actual)).toEqual(told.map(([, wanted]) => wanted));
    }),
    { numRuns: 12, seed: 77 },
  );
});
