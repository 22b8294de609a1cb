import { ACTOR, FAULT, LOCK_FAULT } from '../parts/operation-faults.ts';

/** The operations about the organization, and those that delete, redact, hold and keep what was recorded. */
export const RETENTION_OPERATIONS = {
  SessionsDeletionPreview: `query SessionsDeletionPreview($ids: [ID!]!) {
    viewer { organization { id sessionsDeletionPreview(sessionIds: $ids) { sessions events held { id } } } }
  }`,

  SessionDeletionPreview: `query SessionDeletionPreview($id: ID!) {
    session(id: $id) {
      id title hold { reason heldAt holder { ${ACTOR} } } deletionPreview { events artifacts pullRequests }
    }
  }`,

  DeleteSession: `mutation DeleteSession($id: ID!) {
    deleteSession(input: { sessionId: $id }) { __typename ${FAULT} }
  }`,

  HoldSession: `mutation HoldSession($id: ID!, $reason: String!) {
    holdSession(input: { sessionId: $id, reason: $reason }) { __typename ${FAULT} }
  }`,

  ReleaseSession: `mutation ReleaseSession($id: ID!) {
    releaseSession(input: { sessionId: $id }) { __typename ${FAULT} }
  }`,

  RedactSessionEvents: `mutation RedactSessionEvents($input: RedactSessionEventsInput!) {
    redactSessionEvents(input: $input) {
      __typename ... on RedactSessionEventsPayload { redactedEvents redactedTexts } ${LOCK_FAULT}
    }
  }`,

  RedactOrganization: `mutation RedactOrganization($text: String!) {
    redactOrganization(input: { text: $text }) { __typename ${FAULT} }
  }`,

  DeleteMemberData: `mutation DeleteMemberData($input: DeleteOrganizationMemberDataInput!) {
    deleteOrganizationMemberData(input: $input) { __typename ${FAULT} }
  }`,

  Organization: `query Organization($mayChange: Boolean!) {
    viewer { organization { id databaseId name slug logoUrl updatedAt viewerCanDelete definitionDeletion ... @include(if: $mayChange) {
      keyPolicy { maxDays boundOnly }
      retention { sessionDays occurrenceDays auditLogDays limitedByOperator }
      signInSettings { issuer domains organizationSlug joins adminGroups viewerGroups allowedGroups isOnly }
    } } }
  }`,

  UpdateKeyPolicy: `mutation UpdateKeyPolicy($input: UpdateOrganizationKeyPolicyInput!) {
    updateOrganizationKeyPolicy(input: $input) { __typename ${FAULT} }
  }`,

  RetentionPreview: `query RetentionPreview($sessionDays: Int, $occurrenceDays: Int, $auditLogDays: Int) {
    viewer { organization { id
      retentionPreview(sessionDays: $sessionDays, occurrenceDays: $occurrenceDays, auditLogDays: $auditLogDays) {
        sessions occurrences auditEntries
      }
    } }
  }`,

  UpdateRetention: `mutation UpdateRetention($input: UpdateOrganizationRetentionInput!) {
    updateOrganizationRetention(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  DeleteObjectOccurrences: `mutation DeleteObjectOccurrences($input: DeleteObjectOccurrencesInput!) {
    deleteObjectOccurrences(input: $input) { __typename ${FAULT} }
  }`,
} as const;
