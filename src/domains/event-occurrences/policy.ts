import type { Access } from '../../core/operation.ts';

/** Reading occurrences takes what reading their definitions takes. */
export const SEND_OCCURRENCES: Access = { scopes: ['analytics.behavioral_events.send'], inOrganization: true };
/** Identifiers name records, as occurrences do. */
export const READ_IDENTIFIERS: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
};
/** What was sent, whatever the subscription is now. */
export const READ_USAGE: Access = {
  scopes: ['behavioral_events.event_definitions.read_write'],
  inOrganization: true,
};
