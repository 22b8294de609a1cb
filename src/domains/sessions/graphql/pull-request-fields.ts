import type { FieldsOf } from '../../../core/graphql/nodes.ts';
import type { SourcePullRequest } from '../entity.ts';
import { PullRequestStatusEnum } from './enums.ts';

/** The fields that the pull request of an artifact and that of a source have in common. */
export function pullRequestFields(t: FieldsOf<SourcePullRequest>) {
  return {
    url: t.expose('url', { type: 'URL', description: 'Address of the pull request at the provider.' }),
    title: t.exposeString('title', { description: 'Title of the pull request, 1 to 1000 characters.' }),
    status: t.expose('status', {
      type: PullRequestStatusEnum,
      description: 'Whether the pull request is open, merged or closed.',
    }),
    isDraft: t.exposeBoolean('isDraft', { description: 'Whether the pull request is a draft.' }),
  };
}
