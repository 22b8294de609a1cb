import { type NotFoundError, notFound } from '../../core/errors.ts';
import {
  type AuditTarget,
  type OperationContext,
  requireOrganization,
  requireScope,
  write,
} from '../../core/operation.ts';
import { toValidationError } from '../../core/validation.ts';
import { type HeldDefinition, holdDefinitions } from '../event-definitions/operations.ts';
import { type CheckedOccurrence, type OccurrenceIssue, checkOccurrence } from './occurrence-validation.ts';
import type { RegisterObjectIdentifiersInput, SendEventOccurrenceInput, SendEventOccurrencesInput } from './input.ts';
import {
  type NewOccurrence,
  claimUuids,
  countOccurrences,
  findObjects,
  keyOf,
  storeIdentifiers,
  storeOccurrences,
} from './store.ts';

export { purgeOccurrences } from './purge.ts';

/**
 * Sends one occurrence of a defined event.
 * @throws NotFoundError when there is no such event; ValidationError when identifiers or properties do not fit its definition; DomainError
 * 429 over the month's limit.
 */
export async function sendEventOccurrence(context: OperationContext, input: SendEventOccurrenceInput): Promise<void> {
  await sendOne(context, { inputs: [input], pathOf: () => [] });
}

/**
 * Sends occurrences, of one event or of many: all are taken or none. Those whose uuid is known are dropped in silence and do not count.
 * @throws as `sendEventOccurrence`; faults are named with their place, as `inputs.3.properties.price`.
 */
export async function sendEventOccurrences(
  context: OperationContext,
  { inputs }: SendEventOccurrencesInput,
): Promise<{ acceptedCount: number }> {
  await sendMany(context, { inputs, pathOf: (index) => ['inputs', String(index)] });
  return { acceptedCount: inputs.length };
}

interface Sending {
  readonly inputs: readonly SendEventOccurrenceInput[];
  readonly pathOf: (index: number) => readonly string[];
}

interface Arrived extends CheckedOccurrence {
  readonly input: SendEventOccurrenceInput;
  readonly definition: HeldDefinition;
}

/**
 * The definitions are held throughout, so an occurrence is either stored before its definition is deleted or refused after. The month's
 * count, which all of the organization wait for, comes last but one.
 */
async function send(context: OperationContext, sending: Sending): Promise<ReadonlySet<string>> {
  requireScope(context.actor, 'analytics.behavioral_events.send');
  const { id: organizationId } = requireOrganization(context.actor);
  const arrived = await check(context, sending);
  const fresh = await withoutKnown(context, organizationId, arrived);
  // Events without records trigger and count, but are not kept: section 2.5.
  const kept = fresh.filter(({ definition }) => definition.primaryObject !== 'NO_OBJECT');
  const objects = await findObjects(
    context,
    organizationId,
    kept.flatMap(({ link }) => link ?? []),
  );
  await countOccurrences(context, organizationId, fresh.length, context.settings.monthlyOccurrenceLimit);
  await storeOccurrences(
    context,
    organizationId,
    kept.map((one) => toRow(context, one, objects)),
  );
  return new Set(arrived.map(({ definition }) => definition.id));
}

const sendOne = write(send, { operation: 'sendEventOccurrence', target: definitionOf });
const sendMany = write(send, { operation: 'sendEventOccurrences', target: definitionOf });

function definitionOf(definitionIds: ReadonlySet<string>): AuditTarget {
  const [id = null, ...others] = definitionIds;
  return { type: 'EventDefinition', id: others.length > 0 ? null : id };
}

async function check(context: OperationContext, { inputs, pathOf }: Sending): Promise<Arrived[]> {
  const definitions = await holdDefinitions(
    context,
    inputs.map(({ eventName }) => eventName),
    inputs.flatMap(({ properties }) => Object.keys(properties)),
  );
  const arrived = inputs.map((input, index) => {
    const definition = definitions.get(input.eventName);
    if (!definition) throw eventNotFound(pathOf(index));
    return { input, definition, ...checkOccurrence(definition, input) };
  });
  const issues = arrived.flatMap(({ issues: own }, index) => own.map((issue) => placed(pathOf(index), issue)));
  if (issues.length > 0) throw toValidationError(issues);
  return arrived;
}

/** Told apart by its place, where several are sent. */
function eventNotFound(path: readonly string[]): NotFoundError {
  if (path.length === 0) return notFound('event definition');
  return notFound(`${[...path, 'eventName'].join('.')}: event definition`);
}

function placed(path: readonly string[], issue: OccurrenceIssue): OccurrenceIssue {
  return { ...issue, path: [...path, ...issue.path] };
}

/** Of occurrences with one uuid the first counts: the first of this call, if no earlier one is known. */
async function withoutKnown(
  context: OperationContext,
  organizationId: string,
  arrived: readonly Arrived[],
): Promise<Arrived[]> {
  const firsts = new Map<string, Arrived & { uuid: string }>();
  for (const one of arrived) {
    const { uuid } = one.input;
    const key = `${one.definition.id} ${uuid}`;
    if (uuid !== undefined && !firsts.has(key)) firsts.set(key, { ...one, uuid });
  }
  const claims = [...firsts.values()].map(({ definition, uuid }) => ({ definitionId: definition.id, uuid }));
  const claimed = await claimUuids(context, organizationId, claims);
  const fresh = claimed.flatMap(({ definitionId, uuid }) => firsts.get(`${definitionId} ${uuid}`) ?? []);
  return [...arrived.filter(({ input }) => input.uuid === undefined), ...fresh];
}

function toRow(
  { newId, now }: OperationContext,
  { input, definition, properties, link }: Arrived,
  objects: ReadonlyMap<string, string>,
): NewOccurrence {
  return {
    id: newId(),
    definitionId: definition.id,
    occurredAt: input.occurredAt ?? now().toISOString(),
    email: input.email,
    utk: input.utk,
    objectId: input.objectId ?? (link && objects.get(keyOf(link))),
    uuid: input.uuid,
    properties,
  };
}

/**
 * Tells which objects have which values of a unique property, for occurrences that are sent from now on: custom matching links an
 * occurrence to the object whose value equals the event property's, a number being written in decimals. A value that is registered
 * already then belongs to the object given now. An occurrence whose value nobody has is stored without an object.
 */
export const registerObjectIdentifiers = write(
  async (context, input: RegisterObjectIdentifiersInput) => {
    requireScope(context.actor, 'analytics.behavioral_events.send');
    await storeIdentifiers(context, requireOrganization(context.actor).id, input);
    return { registeredCount: input.identifiers.length };
  },
  { operation: 'registerObjectIdentifiers', target: () => ({ type: 'ObjectIdentifier', id: null }) },
);

// What the deletion of an organization does with its identifiers.
export { deleteIdentifiersOf } from './deletion.ts';
