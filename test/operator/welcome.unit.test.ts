import { expect, test } from 'vitest';
import { readConfig } from '../../src/core/config.ts';
import { VERSION_AND_BUILD } from '../../src/core/version.ts';
import { welcome } from '../../src/operator/welcome.ts';

test('a gateway that others use prints the addresses that they open, the one that it listens on, and no demo workspace', () => {
  const config = readConfig({
    DATABASE_URL: 'postgresql://127.0.0.1/gateway',
    ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    PUBLIC_URL: 'https://gateway.example.com',
  });
  const printed = welcome('http://0.0.0.0:4000', config, { key: undefined, token: undefined });
  expect(printed.replace(VERSION_AND_BUILD, 'VERSION')).toMatchInlineSnapshot(`
    "
      Workspace gateway is ready.

        Console         https://gateway.example.com/
        GraphiQL        https://gateway.example.com/graphql
        REST reference  https://gateway.example.com/docs
        Version         VERSION
        API key         create one with: npm run --silent cli -- keys create --email you@example.com --organization your-organization
        Listens on      http://0.0.0.0:4000

        curl https://gateway.example.com/events/2026-03/event-definitions -H "Authorization: Bearer $KEY"

    "
  `);
});

test('the command for a key names the folder of the data where it is another one, as a shell takes it', () => {
  const printed = welcome('http://127.0.0.1:4000', readConfig({ DATA_DIR: "/srv/it's here" }), {
    key: undefined,
    token: undefined,
  });
  expect(/create one with: (.*)/.exec(printed)?.[1]).toBe(
    String.raw`DATA_DIR='/srv/it'\''s here' npm run --silent cli -- keys create --email demo@example.com --organization demo`,
  );
});
