import { z } from 'zod';
import { type MetricSources, createMetrics } from '../../src/gateway/telemetry/metrics.ts';

/** The Grafana dashboard of deploy/grafana, generated from the list of metrics, with one panel for each. */

const FILTER = 'job="$job",instance=~"$instance"';
const COLUMNS = 2;
const [WIDTH, HEIGHT] = [24 / COLUMNS, 8];

/** The rows of the dashboard, by prefixes of metric names; all others are in the last row. */
const ROWS: readonly (readonly [title: string, ...prefixes: string[]])[] = [
  ['Requests', 'gateway_requests', 'gateway_request_', 'gateway_tails'],
  ['GraphQL', 'gateway_graphql'],
  ['Database', 'gateway_database', 'gateway_replica', 'gateway_clock'],
  ['Jobs', 'gateway_job'],
  ['Webhooks', 'gateway_webhook'],
  ['Other servers', 'gateway_outbound', 'gateway_mcp'],
  ['Other', ''],
];

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
}

interface Target {
  readonly expr: string;
  readonly legend: string;
}

/** Process metrics that the alerts use, too. */
const PROCESS_METRICS: readonly Metric[] = [
  { name: 'nodejs_eventloop_lag_p99_seconds', help: 'Event loop lag, 99th percentile.', type: 'gauge', labels: [] },
  { name: 'process_resident_memory_bytes', help: 'Resident memory.', type: 'gauge', labels: [] },
  { name: 'nodejs_heap_size_used_bytes', help: "V8's heap in use.", type: 'gauge', labels: [] },
  { name: 'process_cpu_seconds_total', help: 'CPU seconds per second.', type: 'counter', labels: [] },
];

/** Sources of metrics that have nothing to report. */
export const NOTHING: MetricSources = {
  pool: { totalCount: 0, idleCount: 0, waitingCount: 0 },
  health: { isAway: () => false },
  countJobs: async () => [],
  lastHeartbeat: async () => 0,
  countWebhooks: async () => [],
  countUnsearchable: async () => 0,
  replicas: { states: () => [] },
  clockDifference: async () => 0,
  logLinesLost: () => 0,
};

export function metricsOfGateway(): Metric[] {
  const { registry } = createMetrics(NOTHING);
  const labelled = z.object({ labelNames: z.array(z.string()) });
  return registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('gateway_'))
    .map((metric) => ({
      name: metric.name,
      help: metric.help,
      type: z.enum(['counter', 'gauge', 'histogram']).parse(String(metric.type)),
      labels: labelled.parse(metric).labelNames,
    }));
}

/** The queries of a panel. Gauges of jobs and webhooks are the same in all processes, so it shows their maximum. */
function targetsOf({ name, type, labels }: Metric): Target[] {
  const by = labels.length > 0 ? labels.join(', ') : 'instance';
  const legend = labels.length > 0 ? labels.map((label) => `{{${label}}}`).join(' ') : '{{instance}}';
  if (type === 'counter') return [{ expr: `sum by (${by}) (rate(${name}{${FILTER}}[$__rate_interval]))`, legend }];
  if (name.endsWith('_timestamp_seconds')) return [{ expr: `time() - max(${name}{${FILTER}})`, legend: 'age' }];
  if (type === 'gauge') {
    const aggregate = /^gateway_(?:job|webhook|search)/.test(name) ? 'max' : 'sum';
    return [{ expr: `${aggregate} by (${by}) (${name}{${FILTER}})`, legend }];
  }
  const main = labels[0];
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le${main ? `, ${main}` : ''}) (rate(${name}_bucket{${FILTER}}[$__rate_interval])))`,
    legend: `p${quantile * 100}${main ? ` {{${main}}}` : ''}`,
  }));
}

function unitOf({ name, type }: Metric): string {
  if (name.endsWith('_seconds')) return 's';
  if (name.endsWith('_bytes')) return 'bytes';
  return type === 'counter' && !name.includes('cpu') ? 'reqps' : 'short';
}

const datasource = { type: 'prometheus', uid: '${datasource}' };

function panelOf(metric: Metric, id: number, x: number, y: number) {
  return {
    id,
    type: 'timeseries',
    title: metric.name,
    description: metric.help,
    datasource,
    gridPos: { x, y, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit: unitOf(metric), min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: targetsOf(metric).map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}

function variable(name: string, query: string, isMulti: boolean) {
  return {
    name,
    type: 'query',
    datasource,
    query,
    refresh: 2,
    multi: isMulti,
    includeAll: isMulti,
    ...(isMulti && { current: { text: 'All', value: '$__all' } }),
  };
}

export function dashboard(metrics: readonly Metric[] = metricsOfGateway()): object {
  const rowOf = ({ name }: Metric) =>
    ROWS.find(([, ...prefixes]) => prefixes.some((prefix) => name.startsWith(prefix)))?.[0];
  const rows = [
    ...ROWS.map(([title]) => ({ title, metrics: metrics.filter((metric) => rowOf(metric) === title) })),
    { title: 'Process', metrics: PROCESS_METRICS },
  ].filter((row) => row.metrics.length > 0);
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    });
    y += 1;
    for (const [index, metric] of row.metrics.entries()) {
      panels.push(panelOf(metric, panels.length + 1, (index % COLUMNS) * WIDTH, y));
      if (index % COLUMNS === COLUMNS - 1 || index === row.metrics.length - 1) y += HEIGHT;
    }
  }
  return {
    uid: 'workspace-gateway',
    title: 'Workspace gateway',
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        variable('job', 'label_values(gateway_build_info, job)', false),
        variable('instance', 'label_values(gateway_build_info{job="$job"}, instance)', true),
      ],
    },
    panels,
  };
}
