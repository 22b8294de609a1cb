import type { FieldsOf } from '../../../core/graphql/nodes.ts';
import type { SourcePullRequest } from '../entity.ts';
import { PullRequestStatusEnum } from './enums.ts';
import { SOURCE_PULL_REQUEST_TEXTS } from '../texts.ts';

/** The fields that the pull request of an artifact and that of a source have in common. */
export function pullRequestFields(t: FieldsOf<SourcePullRequest>) {
  return {
    url: t.expose('url', { type: 'URL', description: SOURCE_PULL_REQUEST_TEXTS.url }),
    title: t.exposeString('title', { description: SOURCE_PULL_REQUEST_TEXTS.title }),
    status: t.expose('status', {
      type: PullRequestStatusEnum,
      description: SOURCE_PULL_REQUEST_TEXTS.status,
    }),
    isDraft: t.exposeBoolean('isDraft', { description: SOURCE_PULL_REQUEST_TEXTS.isDraft }),
  };
}
