import type { Module } from '../../core/module.ts';
import { OPEN_TO_ROLE } from '../../core/module.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { userDeletionJob } from './deletion-job.ts';
import { DeletionJob } from './entity.ts';
import { QUESTIONNAIRE_DAYS, forgetQuestionnaires, readDeletionJobVersions } from './queries.ts';
import { userDeletionRoutes } from './rest.ts';
import { deletionJobTopic } from './topics.ts';
import { memberDataDeletionJob, organizationRedactionJob } from './work-in-organization.ts';

export const userDeletions = {
  entities: [DeletionJob],
  graphql: () => import('./graphql.ts'),
  routes: userDeletionRoutes,
  pages: [],
  jobs: (steps) => [userDeletionJob(steps), memberDataDeletionJob, organizationRedactionJob],
  cleanups: {
    'deletion questionnaires': (em, at, batch) =>
      forgetQuestionnaires(em, new Date(at.getTime() - QUESTIONNAIRE_DAYS * DAY_MS), batch),
  },
  topics: [{ topicOf: deletionJobTopic, read: readDeletionJobVersions }],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: { DeletionJob: OPEN_TO_ROLE },
} as const satisfies Module;
