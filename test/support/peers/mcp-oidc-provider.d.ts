/** Types for the part of oidc-provider that the tests use. The package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export interface GrantContext {
    oidc: { params?: { grant_type?: unknown }; entities: { AccessToken?: { grantId?: string } } };
  }

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    readonly AccessToken: {
      find(token: string): Promise<object | undefined>;
      revokeByGrantId(grantId: string): Promise<void>;
    };
    readonly RefreshToken: { revokeByGrantId(grantId: string): Promise<void> };
    callback(): RequestListener;
    on(event: 'grant.success', listener: (context: GrantContext) => void): void;
  }
}
