import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../access/context.ts';
import { answering, newRequest, type RequestNote, requestIdIn, tookMs } from '../platform/request-note.ts';

/** Paths that monitoring requests every few seconds. Their requests are logged at level debug. */
const FOR_MACHINES = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Calls `answer` to handle a request under an id, which the response contains in `X-Request-Id`, and logs the outcome. The URL
 * is not logged, because some URLs contain secrets.
 */
export function logged(app: App, incoming: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
  const note = newRequest(requestIdIn(incoming.headers, app.config.trustedProxies));
  outgoing.setHeader('X-Request-Id', note.id);
  if (app.log.isLevelEnabled('info')) outgoing.once('close', () => say(app, incoming, outgoing, note));
  answering(note, answer);
}

function say({ log }: App, { method, url = '' }: IncomingMessage, outgoing: ServerResponse, note: RequestNote): void {
  const line = {
    request_id: note.id,
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
