import { RemoteFailedError } from '../../core/errors.ts';

/** Why the exchange with an MCP server failed, in the `data.code` of JSON-RPC errors. */
export type UpstreamCode =
  | 'UPSTREAM_UNREACHABLE'
  | 'UPSTREAM_NOT_MCP'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_RATE_LIMITED'
  | 'ANSWER_TOO_LARGE';

const KINDS = {
  UPSTREAM_UNREACHABLE: 'remoteFailed',
  UPSTREAM_NOT_MCP: 'remoteFailed',
  UPSTREAM_TIMEOUT: 'remoteTimedOut',
  UPSTREAM_RATE_LIMITED: 'rateLimited',
  ANSWER_TOO_LARGE: 'remoteFailed',
} as const satisfies Record<UpstreamCode, string>;

/** The exchange with an MCP server failed. */
export class UpstreamError extends RemoteFailedError {
  readonly upstreamCode: UpstreamCode;

  constructor(
    upstreamCode: UpstreamCode,
    message: string,
    { cause, retryAfter }: { cause?: unknown; retryAfter?: string | null } = {},
  ) {
    super(message, cause, {
      kind: KINDS[upstreamCode],
      ...(retryAfter != null && { headers: { 'Retry-After': retryAfter } }),
    });
    this.upstreamCode = upstreamCode;
  }
}
