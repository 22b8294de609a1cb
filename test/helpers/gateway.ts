import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { inject } from 'vitest';
import { readConfig } from '../../src/core/config.ts';
import type { HttpAnswer } from '../../src/core/http.ts';
import type { Role, Scope } from '../../src/core/operation.ts';
import type { OutboundOptions } from '../../src/core/outbound.ts';
import { createSecretBox, parseEncryptionKeys } from '../../src/core/secrets.ts';
import { type IssuedKey, createKeyFor } from '../../src/gateway/demo.ts';
import { type Dependencies, type DependencyOptions, createDependencies } from '../../src/gateway/dependencies.ts';
import { type Gateway, createGateway } from '../../src/gateway/gateway.ts';
import { databaseUrl, onServer } from './global-setup.ts';
import { gateways, startBalanced } from './several.ts';

/** What a request answered: the whole of it, so that tests compare whole answers. */
export interface Answer<Body = never> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when there is none. Typed by the caller, who asserts on it. */
  readonly body: Body;
}

export interface RestOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface GraphQLAnswer<Data = Record<string, never>> {
  readonly data?: Data | null;
  readonly errors?: { message: string; path?: (string | number)[]; extensions?: Record<string, unknown> }[];
  readonly extensions?: Record<string, unknown>;
}

/** Asks a gateway in process as one asks a server; paths are enough. */
export type Fetch = (target: string | Request, init?: RequestInit) => Promise<Response>;

export function fetchOf(gateway: Gateway): Fetch {
  return async (target, init) => {
    const { body, ...told } = await gateway(requestOf(target, init));
    return new Response(isStream(body) ? streamOf(body) : (body as BodyInit | null), told);
  };
}

function requestOf(target: string | Request, init: RequestInit | undefined): Request {
  return typeof target === 'string' ? new Request(new URL(target, 'http://gateway'), init) : target;
}

function isStream(body: HttpAnswer['body']): body is AsyncIterable<Uint8Array> {
  return body !== null && typeof body === 'object' && Symbol.asyncIterator in body;
}

function streamOf(body: AsyncIterable<Uint8Array>): ReadableStream {
  return body instanceof ReadableStream ? body : (Readable.toWeb(Readable.from(body)) as ReadableStream);
}

/**
 * A gateway in process, on a database of its own; or several on one database behind a load balancer, of which these are the first's
 * dependencies, and everybody's clock, log and statements.
 */
export interface TestGateway {
  readonly dependencies: Dependencies;
  /** Lines that were logged. */
  readonly logged: string[];
  /** SQL statements since the last reset. */
  readonly statements: string[];
  /** URL of its database, for a second process. */
  readonly databaseUrl: string;
  /** Holds the clock; undefined lets it run. */
  setClock(at: Date | undefined): void;
  readonly fetch: Fetch;
  /** A REST request; a body that is not a string is sent as JSON. */
  rest<Body>(method: string, path: string, options?: RestOptions): Promise<Answer<Body>>;
  /** A GraphQL request over POST; fails the test when the answer is no GraphQL response. */
  graphql<Data>(
    key: string,
    query: string,
    variables?: Record<string, unknown>,
    headers?: Record<string, string>,
  ): Promise<GraphQLAnswer<Data>>;
  /** A key of a new user in a new organization, unless an e-mail address or an organization's slug is given. */
  createKey(options?: {
    email?: string;
    organization?: string;
    role?: Role;
    scopes?: readonly Scope[];
  }): Promise<IssuedKey & { organization: string; email: string }>;
  close(): Promise<void>;
}

/** Without rate limits, unless `env` asks for them. `outbound` gives outbound requests other bounds than the usual ones. `databaseWaitMs` is longer than usual, so that a busy machine is not taken for a database that is away. `beside` another one it shares that one's database, as a second process would; `url` is that of a migrated database which the test owns. */
export async function startTestGateway(
  env: Record<string, string> = {},
  {
    beside,
    outbound,
    databaseWaitMs = 30_000,
    url: given = beside?.databaseUrl,
  }: { beside?: TestGateway; outbound?: Partial<OutboundOptions>; databaseWaitMs?: number; url?: string } = {},
): Promise<TestGateway> {
  const serverUrl = inject('serverUrl');
  const name = `gateway_${randomBytes(6).toString('hex')}`;
  if (!given) await onServer(serverUrl, `create database ${name} template ${inject('templateDatabase')}`);
  const url = given ?? databaseUrl(serverUrl, name);
  const statements: string[] = [];
  const logged: string[] = [];
  let clock: Date | undefined;
  const options: DependencyOptions = {
    config: readConfig({ LOG_LEVEL: 'info', RATE_LIMIT_PER_MINUTE: '0', ...env }),
    databaseUrl: url,
    secrets:
      beside?.dependencies.secrets ??
      createSecretBox(parseEncryptionKeys(`test:${randomBytes(32).toString('base64')}`)),
    log: pino({ level: 'info' }, { write: (line: string) => logged.push(line) }),
    now: () => clock ?? new Date(),
    outbound,
    databaseWaitMs,
    onSql: (statement) => statements.push(statement),
  };
  const dependencies = await createDependencies(options);
  const others = await Promise.all(Array.from({ length: gateways - 1 }, () => createDependencies(options)));
  const balanced = others.length > 0 ? await startBalanced([dependencies, ...others].map(createGateway)) : undefined;
  const fetch: Fetch = balanced
    ? (target, init) => balanced.fetch(requestOf(target, init))
    : fetchOf(createGateway(dependencies));
  return {
    dependencies,
    logged,
    statements,
    databaseUrl: url,
    setClock: (at) => (clock = at),
    fetch,
    async rest(method, path, { key, body, headers = {} } = {}) {
      const response = await fetch(path, {
        method,
        headers: {
          ...(key && { Authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return answerOf(response);
    },
    async graphql(key, query, variables, headers = {}) {
      const response = await fetch('/graphql', {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json',
          ...headers,
        },
        body: JSON.stringify({ query, variables }),
      });
      return (await answerOf<GraphQLAnswer<never>>(response)).body;
    },
    async createKey({
      email = `${randomUUID()}@example.com`,
      organization = `org-${randomBytes(6).toString('hex')}`,
      ...rest
    } = {}) {
      return { ...(await createKeyFor(dependencies, { email, organization, ...rest })), organization, email };
    },
    async close() {
      await balanced?.close();
      await Promise.all([dependencies, ...others].map((each) => each.close()));
      if (!given) await onServer(serverUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

async function answerOf<Body>(response: Response): Promise<Answer<Body>> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? (undefined as Body) : (JSON.parse(text) as Body),
  };
}
