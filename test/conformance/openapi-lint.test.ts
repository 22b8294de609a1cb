import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import SpectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';
import { proof } from '../support/proof.ts';
import { OPENAPI } from './helpers/apps.ts';

/** Linters of OpenAPI documents with openapi.json. */

/**
 * Rules that are not followed on purpose: the license has an identifier instead of a URL, tags are ordered by use, and
 * every operator has another contact.
 */
const NOT_FOLLOWED = ['contact-properties', 'license-url', 'openapi-tags-alphabetical'];

test('Spectral finds no violation of its recommended rules, and of all rules only those that are not followed on purpose', async () => {
  const document = JSON.parse(readFileSync(OPENAPI, 'utf8')) as Record<string, unknown>;
  // The type of the rules is narrower than the declared type of a ruleset.
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

test('Redocly finds no violation of its recommended rules, warnings included', () => {
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
