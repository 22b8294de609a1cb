import { ConflictError, RemoteFailedError, type RemoteFailureReason } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { UsableConnection } from '../mcp-connections/public.ts';

const KINDS = {
  UPSTREAM_UNREACHABLE: 'remoteFailed',
  UPSTREAM_NOT_MCP: 'remoteFailed',
  UPSTREAM_TIMEOUT: 'remoteTimedOut',
  UPSTREAM_RATE_LIMITED: 'rateLimited',
  ANSWER_TOO_LARGE: 'remoteFailed',
} as const satisfies Record<RemoteFailureReason, string>;

/** The exchange with an MCP server failed. */
export class UpstreamError extends RemoteFailedError {
  declare readonly reason: RemoteFailureReason;

  constructor(
    reason: RemoteFailureReason,
    message: string,
    { cause, retryAfter }: { cause?: unknown; retryAfter?: string | null } = {},
  ) {
    super(message, cause, {
      reason,
      kind: KINDS[reason],
      ...(retryAfter != null && { headers: { 'Retry-After': retryAfter } }),
    });
  }
}

/** 409: a person must authorize or correct the connection in the console before it can be used. */
export class AuthorizationRequiredError extends ConflictError {
  readonly url: string;

  constructor({ settings }: OperationContext, { id, name }: Pick<UsableConnection, 'id' | 'name'>, reason: string) {
    const url = `${settings.publicUrl}/mcp-connections/${id}`;
    super('WRONG_STATE', `the MCP connection ${name} must be authorized by a person (${reason}); open ${url}`);
    this.url = url;
  }
}

/** 409: several connections have a resource with this address. */
export class AmbiguousResourceError extends ConflictError {
  constructor(uri: string, connections: readonly { readonly handle: string }[]) {
    const handles = connections.map(({ handle }) => handle).join(' and ');
    super('WRONG_STATE', `the address ${uri.slice(0, 200)} is of several connections: ${handles}`);
  }
}
