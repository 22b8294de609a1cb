import { type InputFault, NotFoundError, ValidationError } from '../../core/errors.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import { type OrganizationId, idAt } from '../../core/ids.ts';
import { type SharedDefinition, propertyMeantBy, shareDefinitions } from '../event-definitions/public.ts';
import { type CheckedOccurrence, checkOccurrence } from './occurrence-validation.ts';
import {
  MAX_OCCURRENCES,
  type SendEventOccurrenceInput,
  type UnmatchedReason,
  sendEventOccurrenceInput,
  sendEventOccurrencesInput,
} from './input.ts';
import { SEND_OCCURRENCES } from './policy.ts';
import { ViolationCounter, recordViolations } from './violations.ts';
import {
  type NewOccurrence,
  claimUuids,
  countOccurrences,
  findObjects,
  keyOf,
  storeOccurrences,
} from './send-queries.ts';

// Used by other domain modules.

export const sendEventOccurrence = defineOperation({
  name: 'sendEventOccurrence',
  description:
    'Sends one occurrence of a defined event. An occurrence is ignored when one with the same `uuid` was sent for the definition within the last year. 429 can also mean that the monthly limit of occurrences is reached; `Retry-After` is then the time until the next month.',
  access: SEND_OCCURRENCES,
  input: sendEventOccurrenceInput,
  errors: [NotFoundError],
  run: (context, input) => send(context, { inputs: [input], pathOf: () => [] }),
  target: definitionOf,
  afterRefusal: recordViolations,
});

export const sendEventOccurrences = defineOperation({
  name: 'sendEventOccurrences',
  description: `Sends up to ${MAX_OCCURRENCES} occurrences of one or more events; either all are accepted or none. The faults of all occurrences are reported together, each with its path, such as \`inputs.3.properties.price\`. When unknown events are the only faults, the error is that they are not found.`,
  access: SEND_OCCURRENCES,
  input: sendEventOccurrencesInput,
  errors: [NotFoundError],
  run: (context, { inputs }) => send(context, { inputs, pathOf: (index) => ['inputs', String(index)] }),
  target: definitionOf,
  afterRefusal: recordViolations,
  afterCommit: async (_, __, { inputs }) => ({ acceptedCount: inputs.length }),
});

interface Sending {
  readonly inputs: readonly SendEventOccurrenceInput[];
  readonly pathOf: (index: number) => readonly string[];
}

interface Checked extends CheckedOccurrence {
  readonly input: SendEventOccurrenceInput;
  readonly definition: SharedDefinition;
}

/**
 * The definitions are locked until the commit: an occurrence is stored before its definition is deleted, or refused
 * afterwards. The row of the monthly count is locked as late as possible, because all senders of the organization wait
 * for that lock.
 */
async function send(context: OperationContext, sending: Sending) {
  const { id: organizationId } = requireOrganization(context.actor);
  const checked = await checkAll(context, sending);
  const definitionIds: ReadonlySet<string> = new Set(checked.map(({ definition }) => definition.id));
  const fresh = await withoutKnown(context, organizationId, checked);
  if (fresh.length === 0) return unchanged(definitionIds);
  // Occurrences of NO_OBJECT are counted, but not stored (Custom Event Definition API, section 2.5).
  const kept = fresh.filter(({ definition }) => definition.primaryObject !== 'NO_OBJECT');
  const objects = await findObjects(
    context,
    organizationId,
    kept.flatMap(({ link }) => link ?? []),
  );
  const sentIds = fresh.map(({ definition }) => definition.id);
  await countOccurrences(context, organizationId, sentIds, context.settings.monthlyOccurrenceLimit);
  await storeOccurrences(
    context,
    organizationId,
    kept.map((one) => toRow(context, one, objects)),
  );
  return definitionIds;
}

function definitionOf(definitionIds: ReadonlySet<string>): AuditTarget {
  const [id = null, ...others] = definitionIds;
  return { type: 'EventDefinition', id: others.length > 0 ? null : id };
}

/** An unknown event is a fault like any other. When all faults are unknown events, the answer is 404. */
async function checkAll(context: OperationContext, { inputs, pathOf }: Sending): Promise<Checked[]> {
  const definitions = await shareDefinitions(
    context,
    inputs.map(({ eventName }) => eventName),
    inputs.flatMap(({ properties }) => Object.keys(properties).flatMap((name) => [name, propertyMeantBy(name)])),
  );
  const faults: InputFault[] = [];
  const counter = new ViolationCounter();
  const checked = inputs.flatMap((input, index) => {
    const path = pathOf(index);
    const definition = definitions.get(input.eventName);
    if (!definition) {
      const message = `event definition not found: ${JSON.stringify(input.eventName.slice(0, 100))}`;
      counter.addUnknown(input.eventName);
      faults.push({ path: [...path, 'eventName'], code: NOT_FOUND, message });
      return [];
    }
    const one = { input, definition, ...checkOccurrence(definition, input) };
    counter.add(definition.id, one.faults);
    for (const fault of one.faults) faults.push({ ...fault, path: [...path, ...fault.path] });
    return [one];
  });
  if (faults.length === 0) return checked;
  throw counter.about(
    faults.every(({ code }) => code === NOT_FOUND) ? new NotFoundError(faults) : new ValidationError(faults),
  );
}

const NOT_FOUND = 'NOT_FOUND';

/** Removes repeats: of all occurrences with the same uuid, only the first is kept. */
async function withoutKnown(
  context: OperationContext,
  organizationId: OrganizationId,
  checked: readonly Checked[],
): Promise<Checked[]> {
  const firsts = new Map<string, Checked & { uuid: string }>();
  for (const one of checked) {
    const { uuid } = one.input;
    const key = `${one.definition.id} ${uuid}`;
    if (uuid !== undefined && !firsts.has(key)) firsts.set(key, { ...one, uuid });
  }
  const claims = [...firsts.values()].map(({ definition, uuid }) => ({ definitionId: definition.id, uuid }));
  const claimed = await claimUuids(context, organizationId, claims);
  const fresh = claimed.flatMap(({ definitionId, uuid }) => firsts.get(`${definitionId} ${uuid}`) ?? []);
  return [...checked.filter(({ input }) => input.uuid === undefined), ...fresh];
}

function toRow(
  { newId, now }: OperationContext,
  { input, definition, properties, link }: Checked,
  objects: ReadonlyMap<string, string>,
): NewOccurrence {
  const objectId = input.objectId ?? (link && objects.get(keyOf(link)));
  const occurredAt = input.occurredAt ?? now().toISOString();
  return {
    id: idAt(new Date(occurredAt), newId()),
    definitionId: definition.id,
    occurredAt,
    email: input.email,
    utk: input.utk,
    objectId,
    uuid: input.uuid,
    unmatchedReason: objectId === undefined && definition.customMatchingId ? reasonOf(input, link) : undefined,
    properties,
  };
}

/** Why custom matching has found no record. Without a value to find it by, a contact can still have an address or a token. */
function reasonOf({ email, utk }: SendEventOccurrenceInput, link: Checked['link']): UnmatchedReason | undefined {
  if (link) return 'NOT_REGISTERED';
  return email === undefined && utk === undefined ? 'NO_VALUE' : undefined;
}
