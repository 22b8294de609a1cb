import { route } from '../../core/http/route.ts';
import { MAX_OCCURRENCES, sendEventOccurrenceInput, sendEventOccurrencesInput } from './input.ts';
import { sendEventOccurrence, sendEventOccurrences } from './operations.ts';

const tag = 'Event occurrences';

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
    path: '/events/2026-03/send',
    operationId: 'sendEventOccurrence',
    tag,
    summary: 'Send one occurrence of a defined event.',
    description:
      'An occurrence whose `uuid` is known for the definition for less than a year is dropped in silence. 429 also stands for the month’s limit of occurrences, with `Retry-After` until the next month.',
    input: sendEventOccurrenceInput,
    status: 204,
    errors: [400, 404, 429],
    examples: { input: example },
    run: sendEventOccurrence,
  }),
  route({
    method: 'POST',
    path: '/events/2026-03/send/batch',
    operationId: 'sendEventOccurrences',
    tag,
    summary: `Send up to ${MAX_OCCURRENCES} occurrences: all are taken or none.`,
    description: 'Faults are named with their place, as `inputs.3.properties.price`.',
    input: sendEventOccurrencesInput,
    status: 204,
    errors: [400, 404, 429],
    examples: { input: { inputs: [example] } },
    run: async (context, input) => {
      await sendEventOccurrences(context, input);
    },
  }),
];
