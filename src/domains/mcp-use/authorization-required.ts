import { ConflictError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { UsableConnection } from '../mcp-connections/public.ts';

/** 409: a person must authorize or correct the connection in the console before it can be used. */
export class AuthorizationRequiredError extends ConflictError {
  readonly url: string;

  constructor({ settings }: OperationContext, { id, name }: Pick<UsableConnection, 'id' | 'name'>, reason: string) {
    const url = `${settings.publicUrl}/mcp-connections/${id}`;
    super('WRONG_STATE', `the MCP connection ${name} must be authorized by a person (${reason}); open ${url}`);
    this.url = url;
  }
}
