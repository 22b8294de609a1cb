import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import SpectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';
import { proof } from '../support/proof.ts';
import { OPENAPI } from './helpers/apps.ts';

/** What tools that check OpenAPI documents have to say of openapi.json. */

/** A matter of taste: of two forms of a license one is allowed, tags are in the order of use, and the operator has no one address. */
const NOT_FOLLOWED = ['contact-properties', 'license-url', 'openapi-tags-alphabetical'];

test('Spectral finds nothing against its recommended rules for OpenAPI, and against all of them only what is decided otherwise', async () => {
  const document = JSON.parse(readFileSync(OPENAPI, 'utf8')) as Record<string, unknown>;
  // The rules have a narrower type than rulesets are declared to have.
  const rules = oas as unknown as RulesetDefinition;
  const found = async (severity: 'recommended' | 'all') => {
    const spectral = new SpectralCore.Spectral();
    spectral.setRuleset({ extends: [[rules, severity]] });
    return (await spectral.run(document)).map(({ code, path, message }) => `${code} ${path.join('.')} ${message}`);
  };
  expect(await found('recommended')).toEqual([]);
  expect((await found('all')).filter((line) => !NOT_FOLLOWED.some((code) => line.startsWith(code)))).toEqual([]);
  proof('OpenAPI, Spectral', { figures: { 'warnings by the recommended rules': 0 } });
});

test('Redocly finds nothing against its recommended rules, warnings counted as errors', () => {
  const command = fileURLToPath(new URL('node_modules/@redocly/cli/bin/cli.js', import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [command, 'lint', OPENAPI, '--extends', 'recommended-strict', '--format', 'json'],
    { encoding: 'utf8', env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  );
  expect({ status, stderr }).toMatchObject({ status: 0 });
  expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 } });
  proof('OpenAPI, Redocly', { figures: { problems: 0 } });
});
