import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { MAX_PLANNED_DEFINITIONS } from '../../domains/event-definitions/public.ts';
import { UsageError } from '../command-arguments.ts';
import type { PlanCommand } from '../command.ts';
import { type Difference, comparePlans, describeDifferences } from './compare-plans.ts';
import { type AppliedPlan, type PlanApi, createPlanApi } from './plan-api.ts';
import { parsePlan, printPlan } from './plan-file.ts';
import type { Plan, PlannedEvent, PlannedProperty } from './plan.ts';
import { printTypes } from './print-types.ts';

export function isPlanCommand(command: { readonly name: string }): command is PlanCommand {
  return command.name.startsWith('plan ');
}

export interface PlanAnswer {
  readonly output: string;
  readonly exitStatus: number;
}

/** What `plan check` ends with if there are breaking changes; other failures end with 2. */
const BREAKING = 1;

/**
 * Runs a command of the tracking plan. It needs no database: it calls a gateway over HTTP, or reads only files.
 * @throws UsageError if the file, the gateway or the plan is refused.
 */
export async function runPlanCommand(
  command: PlanCommand,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PlanAnswer> {
  switch (command.name) {
    case 'plan export':
      return answer(printPlan((await createPlanApi(env).read()).plan));
    case 'plan types':
      return answer(printTypes(await readPlan(command.path)));
    case 'plan check': {
      const plan = await readPlan(command.path);
      const before =
        command.against === undefined ? (await createPlanApi(env).read()).plan : await readPlan(command.against);
      const differences = comparePlans(before, plan);
      const isBreaking = differences.some(({ breaking }) => breaking !== undefined);
      return answer(describeDifferences(differences), isBreaking ? BREAKING : 0);
    }
    case 'plan apply':
      return answer(await applyPlan(await readPlan(command.path), command, createPlanApi(env)));
    default:
      throw new Error('no such command', { cause: command satisfies never });
  }
}

function answer(output: string, exitStatus = 0): PlanAnswer {
  return { output, exitStatus };
}

async function readPlan(path: string): Promise<Plan> {
  const content =
    path === '-'
      ? await text(process.stdin)
      : await readFile(path, 'utf8').catch((error: Error) => {
          throw new UsageError(`FILE: ${error.message}`, { cause: error });
        });
  return parsePlan(content, path);
}

type ApplyCommand = Extract<PlanCommand, { name: 'plan apply' }>;

async function applyPlan(wanted: Plan, { isDryRun, deletes }: ApplyCommand, api: PlanApi): Promise<string> {
  const { plan: stored, updatedAt } = await api.read();
  const planned = deletes ? wanted : withStored(wanted, stored);
  const differences = comparePlans(stored, planned);
  const kept = deletes ? '' : keptIn(comparePlans(stored, wanted));
  const names = new Set(differences.map(({ event }) => event));
  const changed = [...planned.values()].filter(({ name }) => names.has(name));
  const deleted = [...names].filter((name) => !planned.has(name));
  for (const [list, what] of [
    [changed, 'changes'],
    [deleted, 'deletes'],
  ] as const)
    if (list.length > MAX_PLANNED_DEFINITIONS)
      throw new UsageError(
        `the plan ${what} ${list.length} events; at most ${MAX_PLANNED_DEFINITIONS} fit in one transaction`,
      );
  const applied = await api.apply({
    definitions: changed.map((event) => inputOf(event, updatedAt.get(event.name))),
    deletions: deleted.map((name) => ({ name, expectedUpdatedAt: updatedAt.get(name) })),
    isDryRun,
  });
  return `${describeDifferences(differences)}${kept}${outcomeOf(applied, isDryRun)}`;
}

/** The plan with everything that only the gateway has. */
function withStored(wanted: Plan, stored: Plan): Plan {
  const events = [...wanted.values()].map((event): PlannedEvent => {
    const present = stored.get(event.name)?.properties;
    const planned = [...event.properties.values()].map((each) => withStoredOptions(each, present?.get(each.name)));
    return { ...event, properties: new Map([...(present ?? []), ...byName(planned)]) };
  });
  return new Map([...stored, ...byName(events)]);
}

function byName<Named extends { readonly name: string }>(items: readonly Named[]): [string, Named][] {
  return items.map((item) => [item.name, item]);
}

function withStoredOptions(planned: PlannedProperty, stored: PlannedProperty | undefined): PlannedProperty {
  if (stored?.type !== planned.type) return planned;
  const values = new Set(planned.options.map(({ value }) => value));
  return { ...planned, options: [...planned.options, ...stored.options.filter(({ value }) => !values.has(value))] };
}

function keptIn(differences: readonly Difference[]): string {
  const removed = differences.filter(({ kind }) => kind === 'removed');
  return removed
    .map(({ event, path, text: value }) => {
      const position = path === '' ? event : `${event}.${path}`;
      return `= ${path.endsWith('.options') ? `${position}: ${value}` : position}: kept; --delete deletes it\n`;
    })
    .join('');
}

function inputOf({ properties, customMatchingId, ...event }: PlannedEvent, expectedUpdatedAt: string | undefined) {
  const { name, label, description, primaryObject, includeDefaultProperties } = event;
  return {
    name,
    label,
    description,
    primaryObject,
    includeDefaultProperties,
    customMatchingId: customMatchingId ? { primaryObjectRule: customMatchingId } : null,
    propertyDefinitions: [...properties.values()].map((property) => ({
      name: property.name,
      label: property.label,
      type: property.type,
      description: property.description,
      options: property.options,
    })),
    expectedUpdatedAt,
  };
}

function outcomeOf({ created, changed, deleted }: AppliedPlan, isDryRun: boolean): string {
  const counts = `${created.length} created, ${changed.length} changed, ${deleted.length} deleted`;
  return isDryRun ? `dry run, nothing was changed: ${counts}\n` : `applied: ${counts}\n`;
}
