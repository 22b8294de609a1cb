import { route } from '../../core/http/route.ts';
import { MAX_OCCURRENCES, sendEventOccurrenceInput, sendEventOccurrencesInput } from './input.ts';
import { sendEventOccurrence, sendEventOccurrences } from './operations.ts';

const tag = 'Event occurrences';

/** Clients that were made for the version before write `v3`. */
const at = (path: string) => ({ path: `/events/2026-03${path}`, aliases: [`/events/v3${path}`] });

const example = {
  eventName: 'checkout_started',
  email: 'ada@example.com',
  properties: { cart_total: 99.5 },
  occurredAt: '2026-03-01T10:20:30.500Z',
  uuid: '6f1c1a0e-5f0b-4c58-9f0a-1d5f7c0f6a11',
};

export const eventOccurrenceRoutes = [
  route({
    method: 'POST',
    ...at('/send'),
    operationId: 'sendEventOccurrence',
    tag,
    summary: 'Send one occurrence of a defined event.',
    description:
      'An occurrence is ignored when one with its `uuid` was sent for the definition within the last year. 429 also means that the month’s limit of occurrences is reached; `Retry-After` is then the time until the next month.',
    input: sendEventOccurrenceInput,
    status: 204,
    errors: [400, 404, 429],
    examples: { input: example },
    run: sendEventOccurrence,
  }),
  route({
    method: 'POST',
    ...at('/send/batch'),
    operationId: 'sendEventOccurrences',
    tag,
    summary: `Send up to ${MAX_OCCURRENCES} occurrences: all are accepted or none.`,
    description:
      'Faults of all occurrences are reported together, each at its place, as `inputs.3.properties.price`. 404 means that nothing but unknown events is wrong.',
    input: sendEventOccurrencesInput,
    status: 204,
    errors: [400, 404, 429],
    examples: { input: { inputs: [example] } },
    run: async (context, input) => {
      await sendEventOccurrences(context, input);
    },
  }),
];
