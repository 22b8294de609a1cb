import { createClient as generate } from '@hey-api/openapi-ts';
import { beforeAll, expect, test } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { OPENAPI, appFile, generatedFolder, typeErrors } from './helpers/apps.ts';

/** A second generator besides openapi-typescript. It generates a function for each operation instead of types for paths. */

interface App {
  useSdk: (given: { url: string; key: string }) => Promise<object>;
}

const gateway = await startServedGateway();
beforeAll(async () => {
  await generate({
    input: OPENAPI,
    output: { path: await generatedFolder('rest-sdk'), importFileExtension: '.ts' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent' },
  });
});

test('the functions that @hey-api/openapi-ts generates compile, refuse wrong uses, and work', async () => {
  expect(await typeErrors('rest-sdk/app.ts')).toEqual([]);
  const app = (await import(appFile('rest-sdk/app.ts'))) as App;
  const { key } = await gateway.createKey();
  expect(await app.useSdk({ url: gateway.url, key })).toEqual({
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
