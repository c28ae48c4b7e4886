import { hostname } from 'node:os';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { setTracing } from './tracing.ts';

// This module is imported dynamically, only if an exporter is configured: its packages take 60 ms and 10 MB.

/** Maximum time, in milliseconds, for which finished spans are collected before they are exported. */
const EXPORT_AFTER_MS = 1_000;
/**
 * Maximum time for one export, in milliseconds. Afterwards, the export fails and its spans are lost. Shorter than the time in
 * which the service stops.
 */
const EXPORT_WITHIN_MS = 2_000;
/** Minimum interval between two log lines about failed exports, in milliseconds. Lines in between are omitted. */
const QUIET_MS = 60_000;

/**
 * Turns tracing on, and exports the spans over OTLP (protobuf over HTTP).
 *
 * @returns A function that exports the remaining spans and turns tracing off.
 */
export function startTracing(
  { url, headers, serviceName, share }: NonNullable<Config['tracing']>,
  log: Logger,
): () => Promise<void> {
  const warn = quietly((message: string) => log.warn({ reason: reasonOf(message) }, 'trace export failed'));
  api.diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, api.DiagLogLevel.WARN);
  const contexts = new AsyncLocalStorageContextManager();
  api.context.setGlobalContextManager(contexts.enable());
  const root = share === 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(share);
  const provider = new TracerProvider({
    // The trace of a client is recorded if the client records it.
    sampler: new ParentBasedSampler({ root }),
    resource: defaultResource()
      .merge(
        resourceFromAttributes({ 'service.name': serviceName, 'host.name': hostname(), 'process.pid': process.pid }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: EXPORT_WITHIN_MS }),
        scheduledDelayMillis: EXPORT_AFTER_MS,
        exportTimeoutMillis: EXPORT_WITHIN_MS,
      }),
    ],
  });
  setTracing({ api, tracer: provider.getTracer('team-chat') });
  return async () => {
    setTracing(undefined);
    await provider.shutdown().catch(() => {});
    api.context.disable();
    api.diag.disable();
  };
}

/** Returns the code and message of an error that the exporter reports as JSON. */
function reasonOf(message: string): string {
  try {
    const { code, message: text } = JSON.parse(message) as { readonly code?: string; readonly message?: string };
    return [code, text].filter((part) => part !== undefined).join(' ');
  } catch {
    return message;
  }
}

/** Returns a function that calls `report` at most once in `QUIET_MS`. */
function quietly(report: (message: string) => void): (message: string) => void {
  let quietUntil = 0;
  return (message) => {
    const now = performance.now();
    if (now < quietUntil) return;
    quietUntil = now + QUIET_MS;
    report(message);
  };
}
