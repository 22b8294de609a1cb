import { LockMode } from '@mikro-orm/postgresql';
import { notFound } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { EventDefinition } from './entity.ts';
import { requireEventDefinitions } from './policy.ts';
import { referenceTo } from './definition-reference.ts';

/** Loads a definition for changing, and holds it: changes of one definition go one after the other. */
export async function lockDefinition({ em, actor }: OperationContext, eventName: string): Promise<EventDefinition> {
  const organization = requireEventDefinitions(actor);
  const { names, id } = referenceTo(eventName, organization.number);
  const candidates = await em.find(
    EventDefinition,
    { organization: organization.id, $or: [{ name: { $in: [...names] } }, ...(id ? [{ id }] : [])] },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  // A name that looks like a fully qualified one is first taken as it stands, also after its definition was deleted: a deletion that is
  // tried again must not meet another definition.
  const definition = candidates.find(({ name }) => name === names[0]) ?? candidates[0];
  if (!definition || definition.deletedAt != null) throw notFound('event definition');
  return definition;
}
