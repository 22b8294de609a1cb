import { ACTOR, FAULT, LOCK_FAULT } from '../parts/operation-faults.ts';

const REVIEWED = `nodes { role origin joinedAt suspendedAt lastSeenAt apiKeyCount identities { issuer } user { id name email } }
  pageInfo { hasNextPage endCursor }`;

const DELETION_JOB = 'id state createdAt runAfter startedAt finishedAt error kind redactedSessions heldSessions';

/** The operations about members, invitations, organizations and the own account. */
export const PEOPLE_OPERATIONS = {
  Members: `query Members($first: Int!, $after: String, $filter: OrganizationMemberFilter, $isAdministrator: Boolean!) {
    viewer { organization { id
      members(first: $first, after: $after, filter: $filter) {
        edges { role node { joinedAt lastSeenAt @include(if: $isAdministrator) user { id databaseId name email } } }
        pageInfo { hasNextPage endCursor }
      }
    } }
  }`,

  FormerMembers: `query FormerMembers($first: Int!, $after: String, $filter: FormerMemberFilter) {
    viewer { organization { id formerMembers(first: $first, after: $after, filter: $filter) {
      nodes { userId userDatabaseId label leftAt } pageInfo { hasNextPage endCursor }
    } } }
  }`,

  SuspendedMembers: `query SuspendedMembers($first: Int!, $after: String, $filter: OrganizationMemberFilter) {
    viewer { organization { id suspendedMembers(first: $first, after: $after, filter: $filter) {
      nodes { role suspendedAt user { id databaseId name email } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  AccessReview: `query AccessReview($first: Int!, $after: String, $suspended: Boolean!) {
    viewer { organization { id
      members(first: $first, after: $after) @skip(if: $suspended) { ${REVIEWED} }
      suspendedMembers(first: $first, after: $after) @include(if: $suspended) { ${REVIEWED} }
    } }
  }`,

  Groups: `query Groups($first: Int!, $after: String) {
    viewer { organization { id groups(first: $first, after: $after, orderBy: { field: NAME, direction: ASC }) {
      nodes { id name externalName isManagedBySCIM updatedAt
        members(first: 100) { totalCount nodes { ... on User { id name email } ... on ServiceAccount { id displayName } } } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  GroupMembers: `query GroupMembers($id: ID!, $first: Int!, $after: String) {
    node(id: $id) { id ... on Group { members(first: $first, after: $after) {
      nodes { ... on User { id } ... on ServiceAccount { id } } pageInfo { hasNextPage endCursor }
    } } }
  }`,

  CreateGroup: `mutation CreateGroup($input: CreateGroupInput!) { createGroup(input: $input) { __typename ${FAULT} } }`,

  UpdateGroup: `mutation UpdateGroup($input: UpdateGroupInput!) { updateGroup(input: $input) { __typename ${LOCK_FAULT} } }`,

  DeleteGroup: `mutation DeleteGroup($id: ID!) { deleteGroup(input: { groupId: $id }) { __typename ${FAULT} } }`,

  ReactivateMember: `mutation ReactivateMember($userId: ID!) {
    reactivateOrganizationMember(input: { userId: $userId }) { __typename ${FAULT} }
  }`,

  Membership: `query Membership {
    viewer { user { id } organization { id viewerCanAdminister
      feed(last: 1, filter: { types: [MEMBER_JOINED, MEMBER_LEFT] }) { nodes { id databaseId } }
    } }
  }`,

  MembersChanged: `subscription MembersChanged($after: ID) { feed(after: $after, types: [MEMBER_JOINED, MEMBER_LEFT]) { id } }`,

  ChangeRole: `mutation ChangeRole($userId: ID!, $role: OrganizationRole!) {
    changeOrganizationMemberRole(input: { userId: $userId, role: $role }) { __typename ${FAULT} }
  }`,

  UnblockApiKey: `mutation UnblockApiKey($id: ID!) {
    unblockApiKey(input: { apiKeyId: $id }) { __typename ${FAULT} }
  }`,

  EndSignIns: `mutation EndSignIns($userId: ID!) {
    endOrganizationMemberSignIns(input: { userId: $userId }) { __typename ${FAULT} }
  }`,

  RemoveMember: `mutation RemoveMember($userId: ID!) {
    removeOrganizationMember(input: { userId: $userId }) { __typename ${FAULT} }
  }`,

  CreateOrganization: `mutation CreateOrganization($input: CreateOrganizationInput!) {
    createOrganization(input: $input) { __typename ... on CreateOrganizationPayload { key organization { databaseId slug } } ${FAULT} }
  }`,

  UpdateOrganization: `mutation UpdateOrganization($input: UpdateOrganizationInput!) {
    updateOrganization(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  Profile: `query Profile {
    viewer {
      user { id name email createdAt updatedAt }
      apiKey { organization { id } }
      organizations(first: 100) { nodes { id databaseId name slug viewerRole memberCount } }
    }
  }`,

  SignIns: `query SignIns($first: Int!, $after: String) {
    viewer { signIns(first: $first, after: $after) {
      nodes { id isCurrent name preview createdAt lastUsedAt expiresAt }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  ConnectedApps: `query ConnectedApps($first: Int!, $after: String) {
    viewer { connectedApps(first: $first, after: $after) {
      nodes { id clientName clientHost resource scopes createdAt lastUsedAt organization { id name } }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  RevokeConnectedApp: `mutation RevokeConnectedApp($id: ID!) {
    revokeConnectedApp(input: { connectedAppId: $id }) { __typename ${FAULT} }
  }`,

  Identities: `query Identities { viewer { identities { issuer createdAt lastSignedInAt } } }`,

  UpdateViewer: `mutation UpdateViewer($input: UpdateViewerInput!) {
    updateViewer(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  DeleteUser: `mutation DeleteUser($id: ID!) {
    deleteUser(input: { userId: $id }) { __typename ${FAULT} }
  }`,

  CancelUserDeletion: `mutation CancelUserDeletion($id: ID!) {
    cancelUserDeletion(input: { deletionJobId: $id }) { __typename ${FAULT} }
  }`,

  DeletionJobs: `query DeletionJobs($first: Int!, $after: String) {
    viewer { deletionJobs(first: $first, after: $after) {
      nodes { ${DELETION_JOB} }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  DeletionJobChanged: `subscription DeletionJobChanged($id: ID!) { deletionJobChanged(deletionJobId: $id) { ${DELETION_JOB} } }`,

  DeletionPreview: `query DeletionPreview {
    viewer { organization { id deletionPreview {
      memberCount apiKeyCount sessionCount sessionEventCount eventDefinitionCount mcpServerCount
    } } }
  }`,

  DeleteOrganization: `mutation DeleteOrganization($id: ID!, $confirmSlug: String!) {
    deleteOrganization(input: { organizationId: $id, confirmSlug: $confirmSlug }) { __typename ${FAULT} }
  }`,

  LeaveOrganization: `mutation LeaveOrganization($id: ID!) {
    leaveOrganization(input: { organizationId: $id }) { __typename ${FAULT} }
  }`,

  Invitations: `query Invitations($first: Int!, $after: String) {
    viewer { organization { id invitations(first: $first, after: $after) {
      nodes { id email role expiresAt viewerCanRevoke inviter { ${ACTOR} } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  OwnInvitations: `query OwnInvitations {
    viewer { invitations(first: 10) { nodes { id organizationName role expiresAt } } }
  }`,

  Invite: `mutation Invite($email: String!, $role: OrganizationRole!) {
    inviteOrganizationMember(input: { email: $email, role: $role }) {
      __typename ... on InviteOrganizationMemberPayload { token } ${FAULT}
    }
  }`,

  RevokeInvitation: `mutation RevokeInvitation($id: ID!) {
    revokeOrganizationInvitation(input: { invitationId: $id }) { __typename ${FAULT} }
  }`,

  ServiceAccounts: `query ServiceAccounts($first: Int!, $after: String) {
    viewer { organization { id serviceAccounts(first: $first, after: $after) {
      nodes { id name role createdAt }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  CreateServiceAccount: `mutation CreateServiceAccount($input: CreateServiceAccountInput!) {
    createServiceAccount(input: $input) { __typename ${FAULT} }
  }`,

  UpdateServiceAccount: `mutation UpdateServiceAccount($input: UpdateServiceAccountInput!) {
    updateServiceAccount(input: $input) { __typename ${FAULT} }
  }`,

  DeleteServiceAccount: `mutation DeleteServiceAccount($id: ID!) {
    deleteServiceAccount(input: { serviceAccountId: $id }) { __typename ${FAULT} }
  }`,

  CreateServiceAccountApiKey: `mutation CreateServiceAccountApiKey($input: CreateServiceAccountApiKeyInput!) {
    createServiceAccountApiKey(input: $input) {
      __typename ... on CreateServiceAccountApiKeyPayload { key } ${FAULT}
    }
  }`,

  AcceptInvitation: `mutation AcceptInvitation($token: String!) {
    acceptOrganizationInvitation(input: { token: $token }) {
      __typename ... on AcceptOrganizationInvitationPayload { organization { databaseId name } } ${FAULT}
    }
  }`,
} as const;
