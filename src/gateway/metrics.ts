import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

import type { Replicas } from '../core/replicas.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The gateway's Prometheus metrics, in a registry of their own. Labels are bounded: operations and statuses, never ids or texts of callers. */
export function createMetrics(replicas?: Pick<Replicas, 'states'>) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    replicas: replicas && replicaGauge(replicas, registry),
    requests: new Counter({
      name: 'gateway_requests_total',
      help: 'Requests by door, operation and HTTP status.',
      labelNames: ['door', 'operation', 'status'] as const,
      registers: [registry],
    }),
    duration: new Histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Time from the request to its answer, by door and operation.',
      labelNames: ['door', 'operation'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    }),
    cost: new Histogram({
      name: 'gateway_graphql_cost',
      help: 'Cost of GraphQL operations, in points.',
      buckets: [1, 10, 100, 1000, 5000, 10_000, 20_000],
      registers: [registry],
    }),
  };
}

function replicaGauge(replicas: Pick<Replicas, 'states'>, registry: Registry) {
  return new Gauge({
    name: 'gateway_replica_usable',
    help: 'Whether a read replica serves reads (1), or is away or too far behind (0), by host and port.',
    labelNames: ['replica'] as const,
    registers: [registry],
    collect() {
      for (const { replica, isUsable } of replicas.states()) this.set({ replica }, isUsable ? 1 : 0);
    },
  });
}
