import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { route } from '../../core/http/route.ts';
import { newPropertyExample } from './rest-examples.ts';
import { applyTrackingPlan } from './tracking-plan.ts';

const appliedDocument = documentOf(
  {
    isDryRun: 'Whether nothing was changed because a check was asked for.',
    created: 'Names of the events that did not exist.',
    changed: 'Names of the events that differed.',
    deleted: 'Names of the deleted events.',
    unchanged: 'Names of the events that were already as planned.',
  },
  {
    isDryRun: z.boolean(),
    created: z.array(z.string()),
    changed: z.array(z.string()),
    deleted: z.array(z.string()),
    unchanged: z.array(z.string()),
  },
).meta({ id: 'AppliedTrackingPlan' });

export const trackingPlanRoutes = [
  route(applyTrackingPlan, {
    method: 'POST',
    path: '/v1/tracking-plan',
    tag: 'Event definitions',
    output: appliedDocument,
    status: 200,
    examples: {
      input: {
        definitions: [
          {
            name: 'checkout_started',
            label: 'Checkout started',
            propertyDefinitions: [newPropertyExample],
            expectedUpdatedAt: '2026-03-01T10:20:30.500Z',
          },
        ],
      },
      output: { isDryRun: false, created: [], changed: ['checkout_started'], deleted: [], unchanged: [] },
    },
    toDocument: ({ isDryRun, created, changed, deleted, unchanged }) => ({
      isDryRun,
      created,
      changed,
      deleted,
      unchanged,
    }),
  }),
];
