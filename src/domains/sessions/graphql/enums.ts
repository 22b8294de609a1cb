import { builder } from '../../../core/graphql/builder.ts';
import {
  ARTIFACT_TYPES,
  MODES,
  PROJECT_COLORS,
  PROJECT_ICONS,
  PULL_REQUEST_STATUSES,
  SANDBOX_SIZES,
  SESSION_STATES,
  SESSION_TYPES,
  VISIBILITIES,
} from '../vocabulary.ts';

/** Converts values to the spelling of GraphQL enums: `inProgress` to `IN_PROGRESS`, `PullRequest` to `PULL_REQUEST`. */
function enumOf<const Value extends string>(
  name: string,
  description: string,
  values: readonly Value[],
  describe: (value: Value) => string,
) {
  const spelt = (value: string) => value.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase();
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(values.map((value) => [spelt(value), { value, description: describe(value) }])),
  });
}

export const SessionStateEnum = enumOf('SessionStateName', 'The state of a session.', SESSION_STATES, (state) => {
  const meaning = {
    queued: 'The session waits for a runner.',
    inProgress: 'The session is running.',
    completed: 'The session succeeded.',
    failed: 'The session failed.',
    cancelled: 'The session was canceled.',
  };
  return meaning[state];
});
export const SessionTypeEnum = enumOf(
  'SessionType',
  'Interface for working with the agent.',
  SESSION_TYPES,
  (type) => `A ${type.toLowerCase()}.`,
);
export const SessionModeEnum = enumOf('SessionMode', 'How the agent works.', MODES, (mode) =>
  mode === 'normal' ? 'The agent plans and acts.' : 'The agent only plans.',
);
export const SessionVisibilityEnum = enumOf(
  'SessionVisibility',
  'Who can read a session.',
  VISIBILITIES,
  (visibility) =>
    visibility === 'public'
      ? 'All members of the organization.'
      : 'The creator and the administrators of the organization.',
);
export const SandboxSizeEnum = enumOf(
  'SandboxSize',
  'Size of the machine that the session runs on.',
  SANDBOX_SIZES,
  (size) => `Size ${size}.`,
);
export const ArtifactTypeEnum = enumOf(
  'ArtifactType',
  'Type of the result of a session.',
  ARTIFACT_TYPES,
  (type) => `A ${type.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()}.`,
);
export const PullRequestStatusEnum = enumOf(
  'PullRequestStatus',
  'Status of a pull request.',
  PULL_REQUEST_STATUSES,
  (status) => `The pull request is ${status}.`,
);
export const ProjectIconEnum = enumOf(
  'ProjectIcon',
  'The icon of a project.',
  PROJECT_ICONS,
  (icon) => `The ${icon} icon.`,
);
export const ProjectColorEnum = enumOf(
  'ProjectColor',
  'The color of a project.',
  PROJECT_COLORS,
  (color) => `The color ${color}.`,
);
