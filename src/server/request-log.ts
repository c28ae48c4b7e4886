import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../access/context.ts';
import { answering, newRequest, type RequestNote, requestIdIn, tookMs } from '../platform/request-note.ts';
import { traceContextIn } from '../platform/trace-context.ts';
import { beginRequest, type RequestSpan } from '../platform/tracing.ts';

/**
 * Paths that monitoring systems request every few seconds. Requests for these paths are logged at level debug, and are not
 * recorded as spans.
 */
const FOR_MACHINES = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Calls `answer` to handle a request, and logs the outcome. The request gets an id, which the response contains in
 * `X-Request-Id`. If spans are exported, the request is recorded as a span. The URL is not logged, because some URLs contain
 * secrets.
 */
export function logged(
  app: App,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): void {
  const { headers, method = '', url = '' } = incoming;
  const { trustedProxies, tracing } = app.config;
  const { traceparent } = headers;
  const note = newRequest(
    trustedProxies > 0 ? requestIdIn(headers) : undefined,
    traceparent === undefined ? undefined : traceContextIn(headers),
  );
  outgoing.setHeader('X-Request-Id', note.id);
  const span = tracing === undefined || FOR_MACHINES.has(url) ? undefined : beginRequest(note, method);
  if (app.log.isLevelEnabled('info')) outgoing.once('close', () => say(app, incoming, outgoing, note));
  if (span !== undefined) outgoing.once('close', () => endSpan(span, incoming, outgoing, note));
  if (span === undefined) answering(note, answer, incoming, outgoing);
  else answering(note, () => span.run(() => answer(incoming, outgoing)));
}

function endSpan(
  span: RequestSpan,
  { method = '' }: IncomingMessage,
  outgoing: ServerResponse,
  note: RequestNote,
): void {
  const { id, userId, route = 'other' } = note;
  const { statusCode } = outgoing;
  span.end({
    name: `${method} ${route}`,
    attributes: {
      ...{ 'http.request.method': method, 'http.route': route, 'http.response.status_code': statusCode },
      ...{ 'chat.request_id': id, ...(userId !== undefined && { 'user.id': String(userId) }) },
    },
    isError: statusCode >= 500,
  });
}

function say({ log }: App, { method, url = '' }: IncomingMessage, outgoing: ServerResponse, note: RequestNote): void {
  const line = {
    request_id: note.id,
    trace_id: note.trace?.traceId,
    method,
    route: note.route ?? 'other',
    status: outgoing.statusCode,
    ms: tookMs(note),
    user_id: note.userId,
    // True if the client disconnected before it received the whole response.
    cut: outgoing.writableFinished ? undefined : true,
  };
  if (FOR_MACHINES.has(url)) log.debug(line, 'request');
  else log.info(line, 'request');
}
