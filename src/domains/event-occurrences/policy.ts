import type { Access } from '../../core/access.ts';

/** Sending needs this scope. Reading occurrences needs what reading their definitions needs. */
export const SEND_OCCURRENCES: Access = { scopes: ['analytics.behavioral_events.send'], inOrganization: true };
/** Identifiers contain ids of records, as occurrences do, so both need the same scope. */
export const READ_IDENTIFIERS: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
};
/** Without a subscription too: it may have ended since the occurrences were sent. */
export const DELETE_OBJECTS: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
  role: 'admin',
};
/** Counts of refused occurrences name events, properties and keys, but no values. */
export const READ_VIOLATIONS: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
};
/** No subscription is required: occurrences may have been sent before the subscription ended. */
export const READ_USAGE: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
};
