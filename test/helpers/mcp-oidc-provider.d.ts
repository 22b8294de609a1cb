/** The part of oidc-provider, which brings no types, that the tests use. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    readonly AccessToken: { find(token: string): Promise<object | undefined> };
    callback(): RequestListener;
    on(event: 'grant.success', listener: (context: { oidc: { params?: { grant_type?: unknown } } }) => void): void;
  }
}
