import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Context,
  type Span as OpenTelemetrySpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { HttpHeaders } from '../http/messages.ts';
import type { Timing } from '../timeouts.ts';
import { USER_AGENT } from '../version.ts';
import type { Span, SpanOptions, Tracing } from './tracing.ts';

/** Tracing with OpenTelemetry. This file is loaded only if an endpoint is configured. */

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
const NAME = 'workspace-gateway';
const EXPORT_MS = 10_000;

const propagator = new W3CTraceContextPropagator();
const setter = { set: (headers: Record<string, string>, name: string, value: string) => void (headers[name] = value) };
const getter = { keys: () => [], get: (headers: HttpHeaders, name: string) => headers.get(name) ?? undefined };

/**
 * Sends spans to `/v1/traces` of the endpoint in batches, as OTLP over HTTP; supports `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and
 * `OTEL_RESOURCE_ATTRIBUTES`. Nothing waits for spans: if they cannot be sent, that is logged and they are lost.
 */
export function startTracing(
  endpoint: string,
  log: Pick<Logger, 'warn'>,
  { traceFlushMs }: Pick<Timing, 'traceFlushMs'>,
): Tracing {
  const provider = createProvider(endpoint, log);
  const tracer = provider.getTracer(NAME);
  const current = new AsyncLocalStorage<Context>();

  return {
    span({ name, kind, attributes, parent, inner }: SpanOptions, work) {
      const active = current.getStore();
      if (inner && !active) return work(undefined);
      const within = parent ? propagator.extract(ROOT_CONTEXT, parent, getter) : (active ?? ROOT_CONTEXT);
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, within);
      const below = trace.setSpan(within, span);
      const handle = handleOf(span, below);
      return current.run(below, async () => {
        try {
          return await work(handle);
        } catch (error) {
          handle.fail(typeOf(error));
          throw error;
        } finally {
          span.end();
        }
      });
    },
    async close() {
      const sent = provider.shutdown().then(
        () => true,
        () => false,
      );
      if (!(await Promise.race([sent, delay(traceFlushMs, false, { ref: false })]))) log.warn('traces not sent');
    },
  };
}

function createProvider(endpoint: string, log: Pick<Logger, 'warn'>): TracerProvider {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = warning(new OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS, userAgent: USER_AGENT }), log);
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': NAME }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: 1_000 })],
  });
}

const handleOf = (span: OpenTelemetrySpan, context: Context): Span => ({
  traceId: span.spanContext().traceId,
  get context() {
    const headers: Record<string, string> = {};
    propagator.inject(context, headers, setter);
    return headers;
  },
  set: (more) => void span.setAttributes(more),
  rename: (better) => void span.updateName(better),
  fail: (type) => {
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttribute('error.type', type);
  },
});

/** The code of an error, such as a SQLSTATE, or its class. Not the message, which may contain sent data. */
function typeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/** Logs when spans are lost. */
const warning = (exporter: SpanExporter, log: Pick<Logger, 'warn'>): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      if (result.error) log.warn({ err: result.error, spans: spans.length }, 'traces not sent');
      done(result);
    }),
  shutdown: () => exporter.shutdown(),
  forceFlush: async () => exporter.forceFlush?.(),
});
