import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createMetrics } from '../../../src/gateway/telemetry/metrics.ts';
import { caseFaults } from '../../support/completeness.ts';
import { NOTHING } from '../../tools/dashboard.ts';

test('docs/operations.md lists exactly the metrics of the gateway, each with its labels', async () => {
  const { registry } = createMetrics(NOTHING);
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  const text = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| `(gateway_\w+)` +\| (.*?) *\|/gm)];
  expect(
    caseFaults(
      'the table of metrics in docs/operations.md',
      rows.map(([, name = '']) => name),
      names.filter((name) => name.startsWith('gateway_')),
    ),
  ).toBe('');
  for (const [, name = '', labels = ''] of rows) {
    const { labelNames } = z.object({ labelNames: z.array(z.string()) }).parse(registry.getSingleMetric(name));
    const documented = [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label);
    expect(`${name}: ${documented.join(', ')}`).toBe(`${name}: ${labelNames.join(', ')}`);
  }
});
