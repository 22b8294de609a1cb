/** Types for the part of oidc-provider that is used here. The package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export interface ProviderContext {
    type: string;
    body: unknown;
    readonly oidc: {
      readonly params?: { readonly grant_type?: unknown; readonly resource?: unknown };
      readonly entities: { readonly AccessToken?: { readonly grantId?: string } };
      readonly result?: { readonly consent?: { readonly grantId?: string } };
    };
  }

  export interface Interaction {
    readonly exp: number;
    readonly params: Readonly<Record<string, unknown>>;
    result?: object;
    save(ttl: number): Promise<string>;
  }

  export interface DeviceCode {
    readonly jti: string;
    readonly clientId: string;
    readonly isExpired: boolean;
    readonly params: Readonly<Record<string, unknown>>;
    accountId?: string;
    error?: string;
    save(): Promise<string>;
  }

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    readonly AccessToken: {
      readonly prototype: { format?: 'opaque'; generateTokenId(): string };
      find(token: string): Promise<object | undefined>;
      revokeByGrantId(grantId: string): Promise<void>;
    };
    readonly RefreshToken: {
      readonly prototype: { generateTokenId(): string };
      revokeByGrantId(grantId: string): Promise<void>;
    };
    readonly Grant: { find(id: string): Promise<object | undefined> };
    readonly Interaction: { find(uid: string): Promise<Interaction | undefined> };
    readonly DeviceCode: { findByUserCode(userCode: string): Promise<DeviceCode | undefined> };
    callback(): RequestListener;
    on(event: 'grant.success', listener: (context: ProviderContext) => void): void;
    on(event: 'server_error', listener: (context: ProviderContext, error: Error) => void): void;
  }

  export namespace interactionPolicy {
    class Check {
      static readonly REQUEST_PROMPT: true;
      static readonly NO_NEED_TO_PROMPT: false;
      constructor(reason: string, description: string, check: (context: ProviderContext) => boolean);
    }
    const Prompt: new (info: { readonly name: string; readonly requestable: boolean }, ...checks: Check[]) => object;
  }

  export namespace errors {
    class InvalidTarget extends Error {
      constructor(description?: string);
    }
  }
}
