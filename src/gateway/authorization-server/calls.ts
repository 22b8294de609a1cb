import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ApiKeyId } from '../../core/ids.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { SignInRequest } from '../admission/browser-session.ts';

/** One request to the authorization server, which its storage works for: in the transaction of the request, if it has one. */
export interface OAuthCall {
  readonly em: EntityManager;
  /** Reads what `em` reads. */
  readonly sql: Sql;
  readonly request: SignInRequest;
  /** The address that the documents are counted for which the request makes the gateway fetch. */
  readonly clientAddress: string | undefined;
  /** Why a grant ends that is revoked by this request, for the audit log. */
  readonly endsBecause?: 'CLIENT' | 'REUSED';
  /** The grants that this request has ended, whose live streams are notified after the commit. */
  readonly ended: ApiKeyId[];
}

const calls = new AsyncLocalStorage<OAuthCall>();

/** Runs work of the authorization server for a request. */
export const within = <Result>(call: OAuthCall, run: () => Promise<Result>): Promise<Result> => calls.run(call, run);

/** The request that the current work is for. */
export function currentCall(): OAuthCall {
  const call = calls.getStore();
  if (!call) throw new Error('the storage of the authorization server is used outside a request');
  return call;
}
