import { createClient as generate } from '@hey-api/openapi-ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { OPENAPI, appFile, generatedFolder, typeErrors } from './helpers/apps.ts';

/** A second generator beside openapi-typescript: it makes functions of the operations, rather than types of the paths. */

interface App {
  useSdk: (given: { url: string; key: string }) => Promise<object>;
}

let gateway: TestGateway;
let server: RunningServer;
beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  await generate({
    input: OPENAPI,
    output: { path: await generatedFolder('rest-sdk'), importFileExtension: '.ts' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent' },
  });
});
afterAll(async () => {
  await server.stop(1_000);
  await gateway.close();
});

test('the functions that @hey-api/openapi-ts generates compile, refuse misuse, and work', async () => {
  expect(typeErrors('rest-sdk/app.ts')).toEqual([]);
  const app = (await import(appFile('rest-sdk/app.ts'))) as App;
  const { key } = await gateway.createKey();
  expect(await app.useSdk({ url: server.url, key })).toEqual({
    appended: [1, 3],
    ids: [1, 2, 3],
    sessions: [['Generated', 'queued']],
    next: null,
    level: 3,
    envKeys: ['TOKEN'],
    sent: 204,
    missing: 'session not found',
    wrong: [['label', 'must not be empty']],
  });
});
