import { defineEntity, p } from '@mikro-orm/postgresql';
import { Organization } from '../organizations/public.ts';

const RunningExportSchema = defineEntity({
  name: 'RunningExport',
  tableName: 'running_export',
  properties: {
    organization: () => p.oneToOne(Organization).owner().primary().deleteRule('cascade'),
    token: p.uuid(),
    /** From this time on its process counts as dead. */
    expiresAt: p.datetime(),
  },
});

/** The export of an organization that runs, in any process: there is one at a time. */
export class RunningExport extends RunningExportSchema.class {}
RunningExportSchema.setClass(RunningExport);
