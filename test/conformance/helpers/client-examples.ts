import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import type { IncomingMessage, Server } from 'node:http';
import type { DocumentNode } from 'graphql';
import { fileURLToPath, pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import type { TestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, moveTo } from '../../support/fixtures/sessions.ts';
import { OPENAPI, generatedFolder } from './apps.ts';
import { generateTypes } from './codegen.ts';

/** The examples of docs/clients.md, copied to a folder where their imports resolve. */

export const EXAMPLES = fileURLToPath(new URL('../../../docs/examples/clients', import.meta.url));

interface CodegenConfig {
  readonly documents: string;
  readonly generates: Readonly<Record<string, { readonly plugins: readonly string[] }>>;
  readonly config: { readonly scalars: Readonly<Record<string, string>> };
}

/** The folder `generated/<name>` with the examples. */
export async function copyClientExamples(name: string): Promise<string> {
  const folder = await generatedFolder(name);
  for (const file of await readdir(EXAMPLES)) await copyFile(`${EXAMPLES}/${file}`, `${folder}/${file}`);
  return folder;
}

/** The same, with the generated code that the page describes. */
export async function generateClientExamples(name: string): Promise<string> {
  const folder = await copyClientExamples(name);
  await mkdir(`${folder}/generated`);
  const { default: config } = await openExample(folder, 'codegen.ts');
  for (const [filename, { plugins }] of Object.entries(config.generates))
    await generateTypes(`${folder}/${filename}`, `${folder}/${config.documents}`, plugins, config.config);
  await writeFile(`${folder}/generated/openapi.ts`, astToString(await openapiTS(pathToFileURL(OPENAPI))));
  return folder;
}

/** A new organization with three sessions, the first of which has five events and is finished. */
export async function createThreeSessions(gateway: TestGateway) {
  const { key, organization } = await gateway.createKey();
  const ids: string[] = [];
  for (const title of ['One', 'Two', 'Three'])
    ids.push(await createSession(gateway, key, { title, visibility: 'PUBLIC' }));
  await append(gateway, key, ids[0] ?? '', eventsOf(5));
  await moveTo(gateway, key, ids[0] ?? '', 'CANCELLED');
  return { key, organization, ids };
}

type OnEvent = (id: number) => void;
type OnEntries = (entries: readonly object[]) => void;
interface Titled {
  readonly title: string;
}

/**
 * The exports of each example that the tests call. The types of the examples need generated code;
 * `documented-clients.test.ts` checks them.
 */
export interface Examples {
  readonly 'codegen.ts': { readonly default: CodegenConfig };
  readonly 'graphql-sse.ts': {
    readonly followSession: (
      url: string,
      key: string,
      sessionId: string,
      onEvent: (id: number, eventType: string) => void,
    ) => Promise<void>;
  };
  readonly 'urql.ts': {
    readonly createUrqlClient: (url: string, key: string) => unknown;
    readonly allSessions: (client: unknown, pageSize: number) => AsyncIterable<Titled>;
    readonly renameSession: (client: unknown, sessionId: string, title: string) => Promise<object>;
    readonly followSession: (client: unknown, sessionId: string, onEvent: OnEvent) => Promise<void>;
    readonly followEntries: (client: unknown, sessionId: string, onEntries: OnEntries) => Promise<void>;
  };
  readonly 'session-entries.ts': { readonly lineOf: (entry: object) => string };
  readonly 'apollo.ts': {
    readonly possibleTypesOf: (url: string, key: string) => Promise<Record<string, string[]>>;
    readonly createApolloClient: (url: string, key: string, possibleTypes: Record<string, string[]>) => ApolloExample;
    readonly watchSessions: (
      client: ApolloExample,
      pageSize: number,
      onPage: (titles: string[]) => void,
    ) => { loadMore(): Promise<boolean>; stop(): void };
    readonly renameSession: (client: ApolloExample, session: unknown, title: string) => Promise<Map<string, string>>;
    readonly readOverview: (client: ApolloExample) => Promise<{ changes: object[] | null }>;
    readonly followSession: (client: ApolloExample, sessionId: string, onEvent: OnEvent) => Promise<void>;
    readonly followEntries: (client: ApolloExample, sessionId: string, onEntries: OnEntries) => Promise<void>;
  };
  readonly 'apollo-websocket.ts': {
    readonly createApolloSocketClient: (url: string, key: string) => ApolloExample;
  };
  readonly 'urql-websocket.ts': { readonly createUrqlSocketClient: (url: string, key: string) => unknown };
  readonly 'rest.ts': {
    readonly createRest: (baseUrl: string, key: string) => RestExample;
    readonly allSessions: (rest: RestExample, limit: number) => AsyncIterable<Titled>;
    readonly storedEvents: (
      rest: RestExample,
      sessionId: string,
      limit: number,
    ) => AsyncIterable<{ readonly id: number }>;
    readonly raiseLevel: (rest: RestExample, sessionId: string) => Promise<number>;
  };
  readonly 'live-tail.ts': {
    readonly liveTail: (baseUrl: string, key: string, sessionId: string) => AsyncIterable<{ readonly id: number }>;
  };
  readonly 'proxy.ts': {
    readonly createProxy: (gatewayUrl: string, keyFor: (request: IncomingMessage) => string | undefined) => Server;
  };
}

interface ApolloExample {
  readonly cache: { extract(): object };
  query(options: { query: DocumentNode; variables?: object; fetchPolicy?: string }): Promise<unknown>;
  watchQuery(options: { query: DocumentNode }): {
    getCurrentResult(): { dataState: string };
    subscribe(next: () => void): { unsubscribe(): void };
  };
}
interface RestExample {
  use(middleware: { onRequest(call: { request: Request }): Request }): void;
  POST(path: string, init: object): Promise<{ readonly response: Response }>;
}

export async function openExample<File extends keyof Examples>(folder: string, file: File): Promise<Examples[File]> {
  return (await import(`${folder}/${file}`)) as Examples[File];
}
