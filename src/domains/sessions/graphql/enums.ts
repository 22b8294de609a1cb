import { enumOf } from '../../../core/graphql/enums.ts';
import { textOf } from '../../../core/documents.ts';
import { sessionDocument } from '../documents.ts';
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

export const SessionStateEnum = enumOf('SessionStateName', 'The state of a session.', SESSION_STATES, {
  queued: 'The session waits for a runner.',
  inProgress: 'The session is running.',
  completed: 'The session succeeded.',
  failed: 'The session failed.',
  cancelled: 'The session was canceled.',
});
export const SessionTypeEnum = enumOf(
  'SessionType',
  textOf(sessionDocument.shape.sessionType),
  SESSION_TYPES,
  (type) => `A ${type.toLowerCase()}.`,
);
export const SessionModeEnum = enumOf('SessionMode', textOf(sessionDocument.shape.mode), MODES, {
  normal: 'The agent plans and acts.',
  planning: 'The agent only plans.',
});
export const SessionVisibilityEnum = enumOf('SessionVisibility', 'Who can read a session.', VISIBILITIES, {
  public: 'All members of the organization.',
  private: 'The creator and the administrators of the organization.',
});
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
