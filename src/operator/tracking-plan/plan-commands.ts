import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { MAX_PLANNED_DEFINITIONS } from '../../domains/event-definitions/public.ts';
import { UsageError } from '../command-arguments.ts';
import type { PlanCommand } from '../command.ts';
import { type Difference, comparePlans, describeDifferences } from './compare-plans.ts';
import { type AppliedPlan, type PlanApi, type PlanChanges, createPlanApi } from './plan-api.ts';
import { decodePlan, parsePlan, printPlan } from './plan-file.ts';
import type { Plan, PlannedEvent, PlannedProperty } from './plan.ts';
import { printTypes } from './print-types.ts';

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
      const wanted = await readPlan(command.path);
      const { against, deletes } = command;
      const before = against === undefined ? (await createPlanApi(env).read()).plan : await readPlan(against);
      // As `plan apply` does to the gateway.
      const keeps = against === undefined && !deletes;
      const differences = comparePlans(before, keeps ? withStored(wanted, before) : wanted);
      const kept = keeps ? keptIn(comparePlans(before, wanted)) : '';
      const isBreaking = differences.some(({ breaking }) => breaking !== undefined);
      return answer(describeDifferences(differences) + kept, isBreaking ? BREAKING : 0);
    }
    case 'plan apply':
      return answer(await applyPlan(await readPlan(command.path), command, createPlanApi(env)));
    default:
      throw new Error('no such command', { cause: command satisfies never });
  }
}

const answer = (output: string, exitStatus = 0): PlanAnswer => ({ output, exitStatus });

async function readPlan(path: string): Promise<Plan> {
  const content =
    path === '-'
      ? await buffer(process.stdin)
      : await readFile(path).catch((error: NodeJS.ErrnoException) => {
          const { code, message } = error;
          throw new UsageError(code === 'ENOENT' ? `there is no file ${path}` : `${path}: ${message}`, {
            cause: error,
          });
        });
  return parsePlan(decodePlan(content, path), path);
}

type ApplyCommand = Extract<PlanCommand, { name: 'plan apply' }>;

async function applyPlan(
  wanted: Plan,
  { isDryRun, deletes, breaksTypes }: ApplyCommand,
  api: PlanApi,
): Promise<string> {
  const { plan: stored, updatedAt } = await api.read();
  const planned = deletes ? wanted : withStored(wanted, stored);
  const differences = comparePlans(stored, planned);
  const kept = deletes ? '' : keptIn(comparePlans(stored, wanted));
  const names = new Set(differences.map(({ event }) => event));
  if (!breaksTypes) refuseBrokenTypes(differences);
  const changed = [...planned.values()].filter(({ name }) => names.has(name));
  const deleted = [...names].filter((name) => !planned.has(name));
  const parts = partsOf(
    changed.map((event) => inputOf(event, updatedAt.get(event.name))),
    deleted.map((name) => ({ name, expectedUpdatedAt: updatedAt.get(name) })),
  );
  const applied = await applyParts(parts, isDryRun, api);
  return `${describeDifferences(differences)}${kept}${outcomeOf(applied, parts.length, isDryRun)}`;
}

/** @throws UsageError that names each property whose type would change so that its values can be refused. */
function refuseBrokenTypes(differences: readonly Difference[]): void {
  const broken = differences.filter(({ path, breaking }) => breaking !== undefined && path.endsWith('.type'));
  if (broken.length === 0) return;
  const refusal =
    'nothing was changed: the type of a property changes so that values can be refused; --breaking allows it';
  throw new UsageError(`${describeDifferences(broken)}${refusal}`);
}

type Part = Omit<PlanChanges, 'isDryRun'>;

/** The changes in as many requests as they need, which is one for most plans. */
function partsOf(definitions: Part['definitions'], deletions: Part['deletions']): readonly Part[] {
  const [changed, deleted] = [chunksOf(definitions), chunksOf(deletions)];
  return Array.from({ length: Math.max(changed.length, deleted.length, 1) }, (_, index) => ({
    definitions: changed[index] ?? [],
    deletions: deleted[index] ?? [],
  }));
}

/** A request has at most 4 MiB. */
const MAX_CHUNK_BYTES = 3 * 2 ** 20;

function chunksOf<Item extends object>(items: readonly Item[]): readonly (readonly Item[])[] {
  const chunks: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item));
    const last = chunks.at(-1);
    bytes += size;
    if (last && last.length < MAX_PLANNED_DEFINITIONS && bytes <= MAX_CHUNK_BYTES) last.push(item);
    else {
      chunks.push([item]);
      bytes = size;
    }
  }
  return chunks;
}

/** @throws UsageError that says which parts are applied, if a later one is refused. */
async function applyParts(parts: readonly Part[], isDryRun: boolean, api: PlanApi): Promise<AppliedPlan> {
  let total: AppliedPlan = { created: [], changed: [], deleted: [] };
  for (const [index, part] of parts.entries())
    try {
      const { created, changed, deleted } = await api.apply({ ...part, isDryRun });
      total = {
        created: [...total.created, ...created],
        changed: [...total.changed, ...changed],
        deleted: [...total.deleted, ...deleted],
      };
    } catch (error) {
      if (index === 0 || isDryRun || !(error instanceof UsageError)) throw error;
      const done = `the first ${index} of ${parts.length} parts are applied (${countsOf(total)})`;
      throw new UsageError(`${error.message}\n${done}; mend the fault and apply the plan again`, { cause: error });
    }
  return total;
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

const byName = <Named extends { readonly name: string }>(items: readonly Named[]): [string, Named][] =>
  items.map((item) => [item.name, item]);

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

export function inputOf(
  { properties, customMatchingId, ...event }: PlannedEvent,
  expectedUpdatedAt: string | undefined,
) {
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

function outcomeOf(applied: AppliedPlan, parts: number, isDryRun: boolean): string {
  const inParts = parts > 1 ? ` in ${parts} parts, each in one transaction` : '';
  const outcome = isDryRun ? `dry run${inParts}, nothing was changed` : `applied${inParts}`;
  return `${outcome}: ${countsOf(applied)}\n`;
}

const countsOf = ({ created, changed, deleted }: AppliedPlan): string =>
  `${created.length} created, ${changed.length} changed, ${deleted.length} deleted`;
