import type { Attributes, Context, Span, SpanKind, Tracer } from '@opentelemetry/api';
import { currentRequest, type RequestNote } from './request-note.ts';
import { headersOfTrace, type TraceContext } from './trace-context.ts';

type Api = typeof import('@opentelemetry/api');

/** The OpenTelemetry API, which is loaded only if spans are exported, and the tracer that creates the spans. */
export interface Tracing {
  readonly api: Api;
  readonly tracer: Tracer;
}

let tracing: Tracing | undefined;

/** Turns tracing on, or off if the argument is undefined. Without it, each function of this module only calls its callback. */
export function setTracing(to: Tracing | undefined): void {
  tracing = to;
}

/** Name, kind and attributes of a new span. */
interface NewSpan {
  readonly name: string;
  readonly kind?: keyof typeof SpanKind;
  readonly attributes?: Attributes;
}

function begin({ api, tracer }: Tracing, { name, kind = 'INTERNAL', attributes = {} }: NewSpan, parent: Context): Span {
  return tracer.startSpan(name, { kind: api.SpanKind[kind], attributes }, parent);
}

/**
 * Runs `run` as a span of the current trace. The span ends when the promise settles.
 *
 * @param describe Returns name and attributes of the span. Not called if tracing is off.
 * @param finish Returns attributes that depend on the result.
 */
export function inSpan<T>(
  describe: () => NewSpan,
  run: () => Promise<T>,
  finish?: (result: T) => Attributes,
): Promise<T> {
  return tracing === undefined ? run() : spanning(tracing, describe(), run, finish);
}

async function spanning<T>(
  current: Tracing,
  described: NewSpan,
  run: () => Promise<T>,
  finish?: (result: T) => Attributes,
): Promise<T> {
  const { context, trace } = current.api;
  const active = context.active();
  const span = begin(current, described, active);
  try {
    const result = await context.with(trace.setSpan(active, span), run);
    if (finish !== undefined && span.isRecording()) span.setAttributes(finish(result));
    return result;
  } catch (error) {
    fail(current, span, error);
    throw error;
  } finally {
    span.end();
  }
}

/**
 * Marks a span as failed. The message of the error is not recorded, because it can contain confidential values, such as the
 * content of a row.
 */
function fail({ api }: Tracing, span: Span, error: unknown): void {
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
  span.setAttribute('error.type', String(code ?? name ?? 'Error'));
  span.setStatus({ code: api.SpanStatusCode.ERROR });
}

/** The span of a request, while the request is answered. */
export interface RequestSpan {
  /** Runs `answer` in the span. */
  run<T>(answer: () => T): T;
  /** Ends the span. The name is passed here, because the route is known only at the end. */
  end(outcome: { readonly name: string; readonly attributes: Attributes; readonly isError: boolean }): void;
}

/**
 * Begins the span of a request, as a part of the trace in the log fields `note`. Without such a trace, a new trace begins, and
 * `note` then contains it.
 *
 * @returns Undefined if tracing is off.
 */
export function beginRequest(note: RequestNote, method: string): RequestSpan | undefined {
  if (tracing === undefined) return undefined;
  const current = tracing;
  const { context, trace, ROOT_CONTEXT, SpanStatusCode } = current.api;
  const root =
    note.trace === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote(current, note.trace));
  const span = begin(current, { name: method, kind: 'SERVER' }, root);
  const { traceId, spanId, traceFlags } = span.spanContext();
  note.trace = { traceId, spanId, flags: traceFlags, state: note.trace?.state };
  return {
    run: (answer) => context.with(trace.setSpan(root, span), answer),
    end({ name, attributes, isError }) {
      span.updateName(name);
      span.setAttributes(attributes);
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

const remote = ({ api }: Tracing, { traceId, spanId, flags, state }: TraceContext) => ({
  ...{ traceId, spanId, traceFlags: flags, isRemote: true },
  ...(state !== undefined && { traceState: api.createTraceState(state) }),
});

/**
 * Runs an SQL statement as a span of the current trace. Statements outside of a trace, such as those of background tasks, are
 * not recorded. The span contains the text of the statement, but no values.
 */
export function inStatementSpan<T>(sql: string, run: () => Promise<T>): Promise<T> {
  if (tracing === undefined) return run();
  const { context, trace, TraceFlags } = tracing.api;
  // The parent may have ended: reads for single readers continue after a delivery.
  const flags = trace.getSpanContext(context.active())?.traceFlags ?? 0;
  if ((flags & TraceFlags.SAMPLED) === 0) return run();
  return spanning(tracing, { name: summaryOf(sql), kind: 'CLIENT', attributes: attributesOf(sql) }, run);
}

/** Maximum length of a statement in a span, in UTF-16 code units. Longer statements are cut. */
const MAX_STATEMENT_LENGTH = 2_000;

const attributesOf = (sql: string): Attributes => ({
  'db.system.name': 'postgresql',
  'db.query.text': sql.length > MAX_STATEMENT_LENGTH ? sql.slice(0, MAX_STATEMENT_LENGTH) : sql,
});

/**
 * Maximum number of statements whose summary is cached: enough for all statements of the service. The summaries of further
 * statements are computed each time.
 */
const MAX_SUMMARIES = 1_000;
const summaries = new Map<string, string>();

/** Returns the first keyword of a statement, and the first table that it names: "SELECT message". */
function summaryOf(sql: string): string {
  const known = summaries.get(sql);
  if (known !== undefined) return known;
  const keyword = /[a-z]+/i.exec(sql)?.[0].toUpperCase() ?? 'STATEMENT';
  const table = /\b(?:from|into|update|join)\s+(?:"?\w+"?\.)?"?([a-z_]\w*)/i.exec(sql)?.[1];
  const summary = table === undefined ? keyword : `${keyword} ${table}`;
  if (summaries.size >= MAX_SUMMARIES) summaries.clear();
  summaries.set(sql, summary);
  return summary;
}

/** A span that is not tied to one function call. */
export interface OpenSpan {
  /** Runs `run` in the span. */
  run<T>(run: () => T): T;
  end(attributes: Attributes): void;
}

/** Begins a span of the current trace, or of a new one. @returns Undefined if tracing is off. */
export function beginSpan(name: string): OpenSpan | undefined {
  if (tracing === undefined) return undefined;
  const { context, trace } = tracing.api;
  const active = context.active();
  const span = begin(tracing, { name }, active);
  return {
    run: (run) => context.with(trace.setSpan(active, span), run),
    end(attributes) {
      span.setAttributes(attributes);
      span.end();
    },
  };
}

/** Returns `run`, bound to the current span. For code that runs outside the context of the request that caused it. */
export function keepingSpan<T>(run: () => T): () => T {
  if (tracing === undefined) return run;
  const { context, trace, ROOT_CONTEXT } = tracing.api;
  const span = trace.getSpan(context.active());
  return span === undefined ? run : () => context.with(trace.setSpan(ROOT_CONTEXT, span), run);
}

/**
 * Sends a request to another server, with the trace context of the current request. If spans are exported, the request is a
 * span, without its URL, which can contain secrets.
 */
export async function tracedFetch(url: string, init: RequestInit): Promise<Response> {
  const send = () =>
    fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), ...traceHeaders() } });
  const describe = (): NewSpan => {
    const { method = 'GET' } = init;
    const { hostname, port } = new URL(url);
    const server = { 'server.address': hostname, ...(port !== '' && { 'server.port': Number(port) }) };
    return { name: method, kind: 'CLIENT', attributes: { 'http.request.method': method, ...server } };
  };
  return inSpan(describe, send, ({ status }) => ({ 'http.response.status_code': status }));
}

/** Returns the headers that pass on the trace of the current span, or else that of the current request. */
function traceHeaders(): Record<string, string> {
  const received = currentRequest()?.trace;
  const span = tracing?.api.trace.getSpan(tracing.api.context.active());
  if (span === undefined) return received === undefined ? {} : headersOfTrace(received);
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return headersOfTrace({ traceId, spanId, flags: traceFlags, state: traceState?.serialize() || undefined });
}
