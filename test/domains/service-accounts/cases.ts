import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';
import type { References } from '../../support/operations/references.ts';

const name = () => ({ name: `Builds ${randomUUID()}` });
const account = ({ serviceAccountId }: References) => ({ serviceAccountId });

export const serviceAccounts: Cases = {
  createServiceAccount: { input: name, body: name, creates: 'ServiceAccount' },
  updateServiceAccount: { input: (to) => ({ ...account(to), ...name() }), body: name, target: 'ServiceAccount' },
  createServiceAccountApiKey: {
    input: (to) => ({ ...account(to), name: 'CI', scopes: ['SOCIAL'] }),
    body: () => ({ name: 'CI', scopes: ['social'] }),
    creates: 'ApiKey',
  },
  deleteServiceAccount: { input: account, target: 'ServiceAccount' },
};
