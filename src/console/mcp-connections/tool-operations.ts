import { ACTOR, FAULT } from '../parts/operation-faults.ts';

/** The operations of rules for tools and of approvals. */

const TOOL_APPROVAL = `
  id databaseId toolName preview arguments state createdAt expiresAt viewerCanDecide mcpServer { id databaseId name } caller { ${ACTOR} }
  session { id databaseId title } decidedBy { ${ACTOR} }`;

export const TOOL_OPERATIONS = {
  ToolAccess: `query ToolAccess($id: ID!, $access: McpServerAccessInput, $toolRules: [McpToolRuleInput!], $onToolChange: McpToolChange) {
    mcpServer(id: $id) { id toolAccess(access: $access, toolRules: $toolRules, onToolChange: $onToolChange) { allowed asked accounts { __typename ${ACTOR} } } }
  }`,

  ToolGroups: `query ToolGroups($first: Int!, $after: String) {
    viewer { organization { id groups(first: $first, after: $after, orderBy: { field: NAME, direction: ASC }) {
      nodes { id name }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  AcceptToolDefinitions: `mutation AcceptToolDefinitions($input: AcceptMcpToolDefinitionsInput!) {
    acceptMcpToolDefinitions(input: $input) { __typename ${FAULT} }
  }`,

  ToolApprovals: `query ToolApprovals($first: Int!, $after: String) {
    viewer { organization { id toolApprovals(first: $first, after: $after) {
      nodes { ${TOOL_APPROVAL} }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  ToolApproval: `query ToolApproval($id: ID!) { toolApproval(id: $id) { ${TOOL_APPROVAL} } }`,

  DecideToolApproval: `mutation DecideToolApproval($input: DecideToolApprovalInput!) {
    decideToolApproval(input: $input) { __typename ${FAULT} }
  }`,
} as const;
