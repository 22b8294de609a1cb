import { SUBSCRIPTION_LEVELS } from '../../core/config.ts';
import type { Reach } from '../../core/postgres/reading/reach.ts';
import {
  type Access,
  type ActingOrganization,
  type Actor,
  requireAccess,
  requireOrganization,
} from '../../core/access.ts';

const PROFESSIONAL = SUBSCRIPTION_LEVELS.indexOf('professional');

/**
 * Access to event definitions needs the scope, and an organization with a subscription at professional level or higher
 * in at least one product family (Custom Event Definition API, section 5).
 */
export const EVENT_DEFINITIONS: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
  subscription: {
    isMetBy: (subscriptions) =>
      Object.values(subscriptions).some((level) => SUBSCRIPTION_LEVELS.indexOf(level) >= PROFESSIONAL),
    description: 'Needs a subscription of level `professional` or higher in at least one product family.',
    message: 'event definitions need a subscription at professional level or higher in at least one product family',
  },
};

/** @throws ForbiddenError (403); ValidationError (400) when the caller acts in no organization. */
export function requireEventDefinitions(actor: Actor): ActingOrganization {
  requireAccess(actor, EVENT_DEFINITIONS);
  return requireOrganization(actor);
}

/** The columns that decide who can see a definition. `Id` is an id, or a parameter of a prepared query. */
export interface Existence<Id = string> {
  readonly organizationId: Id;
  readonly deletedAt: string | null;
}

/** The definitions of an organization. Deleted definitions are excluded; their rows exist only to reserve the names. */
export const definitionsOf = <Id>(organizationId: Id): Reach<Existence<Id>> => ({
  all: { organizationId, deletedAt: null },
});
