import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';
import type { References } from '../../support/operations/references.ts';

const name = () => ({ name: `Platform ${randomUUID()}` });
const group = ({ groupId }: References) => ({ groupId });

export const groups: Cases = {
  createGroup: { input: name, body: name, creates: 'Group' },
  updateGroup: { input: (to) => ({ ...group(to), ...name() }), body: name, target: 'Group' },
  deleteGroup: { input: group, target: 'Group' },
};
