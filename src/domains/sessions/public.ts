// What other nouns, the gateway and the operator use of sessions.

export { ensureSession } from './ensure-operation.ts';
export { DeletedSession, PullRequest, Session, SessionStream, type SessionTables } from './entity.ts';
export { DOCUMENT_COLUMNS, readSessionDetails } from './document-operations.ts';
export {
  type SessionFilter,
  createSessionInput,
  ensureSessionInput,
  sessionReference,
  sessionReferences,
  recordPullRequestInput,
  sessionConditions,
  sessionFilterOf,
  sessionsCreated,
} from './input.ts';
export { deleteSessions, organizationsWithHeldSessions, selects as selectsSessions } from './deletion.ts';
export {
  lockSessionWithStream,
  readSessionConnections,
  readSessions,
  readStreamHead,
  requireSessionChange,
} from './operations.ts';
export {
  type Caller,
  READ_SESSIONS,
  RECORD_SESSIONS,
  WRITE_SESSIONS,
  callerOf,
  changeableBy,
  mayChange,
  readableBy,
  sessionNotFound,
} from './policy.ts';
export { type TranscriptFileState, isOfTranscript, transcriptFilesOf } from './transcript-files.ts';
export { toPlainText } from './rich-text.ts';
export { requireNotHeld } from './deletion-and-hold.ts';
export { PROJECTS, SESSIONS, type SessionRow, createdWithin, sessionFilterOn } from './queries.ts';
export { READ_PRIVATE_SESSION, foreignSession, recordPrivateReads } from './private-reads.ts';
export { createSession, recordArtifact, recordPullRequest, transitionSession } from './recording-operations.ts';
export { sessionTopic, sessionsTopic } from './topics.ts';
export { type SessionUsage, readSessionUsage } from './usage.ts';
export { type UsageSumTables } from './usage-sum-entity.ts';
export { type AddedSum, SUM_FIELDS, type SumField, sumsOfAppended, sumsToJson } from './usage-sums.ts';
export { sessionDocument, usageDocument } from './documents.ts';
export { SESSION_STATES, type SessionState, USAGE_FIELDS, type UsageField } from './vocabulary.ts';
