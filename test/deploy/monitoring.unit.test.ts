import { execFileSync, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMetrics } from '../../src/gateway/telemetry/metrics.ts';
import { caseFaults } from '../support/completeness.ts';
import { checkout } from '../support/processes/programs.ts';
import { NOTHING, dashboard, metricsOfGateway } from '../tools/dashboard.ts';

/** The alerts, the dashboard and the metrics that they use. */

const PROMETHEUS = join(checkout, 'deploy/prometheus');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const UNINSTALLED = 'promtool is not installed: apt-get install prometheus';

const promtool = (...args: string[]) => execFileSync('promtool', args, { cwd: PROMETHEUS, encoding: 'utf8' });

/** Every metric with a value for every label. */
async function exposition(): Promise<string> {
  const metrics = createMetrics({
    ...NOTHING,
    pool: { totalCount: 3, idleCount: 1, waitingCount: 0 },
    countJobs: async () => [{ queue: 'event-purge', state: 'created', count: 1, waitSeconds: 5 }],
    countWebhooks: async () => [{ state: 'enabled', count: 1, waitSeconds: 5 }],
    countUnsearchable: async () => 3,
    replicas: { states: () => [{ replica: '127.0.0.1:5432', isUsable: true }] },
  });
  metrics.requests.inc({ api: 'rest', operation: 'a', status: 200 });
  metrics.duration.observe({ api: 'rest', operation: 'a' }, 0.01);
  metrics.fields.inc({ field: 'Query.viewer', outcome: 'ok' });
  metrics.cost.observe(10);
  metrics.tails.set({ api: 'rest' }, 1);
  metrics.outbound.observe({ outcome: '2xx' }, 0.1);
  metrics.webhookDeliveries.observe({ kind: 'entry', outcome: 'succeeded' }, 0.1);
  metrics.jobRuns.observe({ queue: 'event-purge', outcome: 'done' }, 1);
  return metrics.registry.metrics();
}

test('the metrics pass promtool check metrics', async ({ skip }) => {
  skip(!hasPromtool, UNINSTALLED);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: await exposition(),
    encoding: 'utf8',
  });
  expect({ status, output: `${stdout}${stderr}` }).toEqual({ status: 0, output: '' });
});

test('the alert rules are valid for promtool and pass their tests', ({ skip }) => {
  skip(!hasPromtool, UNINSTALLED);
  expect(promtool('check', 'rules', 'alerts.yml')).toContain('SUCCESS');
  expect(promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
});

test('every alert has a test and a row in docs/operations.md, and uses existing metrics', async () => {
  const rules = await readFile(join(PROMETHEUS, 'alerts.yml'), 'utf8');
  const tests = await readFile(join(PROMETHEUS, 'alerts.test.yml'), 'utf8');
  const guide = await readFile(join(checkout, 'docs/operations.md'), 'utf8');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const tested = new Set([...tests.matchAll(/alertname: (\w+)/g)].map(([, name = '']) => name));
  const documented = [...guide.matchAll(/^\| `(Gateway[A-Z]\w+)` +\|/gm)].map(([, name = '']) => name);
  expect(alerts.length).toBeGreaterThan(10);
  expect(caseFaults('deploy/prometheus/alerts.test.yml', [...tested], alerts)).toBe('');
  expect(caseFaults('the table of alerts in docs/operations.md', documented, alerts)).toBe('');
  const known = new Set(metricsOfGateway().map(({ name }) => name));
  const used = [...rules.matchAll(/gateway_\w+/g)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ''));
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});

test('the dashboard is up to date and has a panel for each metric', async () => {
  const text = await readFile(join(checkout, 'deploy/grafana/dashboard.json'), 'utf8');
  const stored = JSON.parse(text) as { panels: { type: string; title: string }[] };
  expect(stored).toEqual(JSON.parse(JSON.stringify(dashboard())));
  const titles = new Set(stored.panels.filter(({ type }) => type === 'timeseries').map(({ title }) => title));
  const names = metricsOfGateway().map(({ name }) => name);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !titles.has(name))).toEqual([]);
});
