import { type App, signedIn } from '../access/context.ts';
import { signIn } from '../access/sign-in.ts';
import { announceRestart } from '../administration/organization/restart.ts';
import { applyDeclaredProviders } from '../administration/single-sign-on/declared.ts';
import { createGraphQL } from '../api/graphql/transports/server.ts';
import { createEventStreamTransport } from '../api/graphql/transports/sse.ts';
import { createWebSocketTransport } from '../api/graphql/transports/websocket.ts';
import { NO_CAPABILITIES } from '../events/view.ts';
import { noteFilesPlace } from '../messages/attachments/place.ts';
import { hostOf } from '../platform/hosts.ts';
import { settleCookieId } from './cookie-id.ts';
import type { DemoAccess, DemoOwner } from './demo/demo-access.ts';
import { serveMetrics } from './health.ts';
import { closeServer, createServer } from './http.ts';
import { listen } from './listen.ts';
import { createGraphiQL } from './pages/graphiql.ts';
import { registerQueue } from './registration/service.ts';
import { buildSchema } from './registries/schema.ts';
import type { Running } from './start.ts';

/** Milliseconds in which requests in progress must finish when the service stops. */
const GRACE_MS = 2_500;
/**
 * Milliseconds for which idle connections stay open when the service stops. A connection in use receives another request in
 * this time. The response to that request closes the connection.
 */
const DRAIN_MS = 1_000;

/** A service that accepts connections. */
export interface Served {
  readonly port: number;
  /**
   * Stops the service. WebSocket and event clients are disconnected, and reconnect later. Requests in progress are finished,
   * then the port is closed.
   */
  close(): Promise<void>;
}

/**
 * Listens at the configured host and port, and starts the background workers, such as the delivery of scheduled messages. For
 * port 0, the operating system chooses the port, which is stored in `app.config.port`.
 *
 * @param demo Access to the pages that contain the API key of the demo owner. Null: no browser has access.
 * @throws Error with code EADDRINUSE if the port is in use.
 */
export async function serve(
  {
    app,
    deliveries,
    mail,
    counting,
    indexing,
    retention,
    attachments,
    deciding,
    pushing,
    missedMail,
    digesting,
    previewing,
    auditing,
  }: Omit<Running, 'sweeping' | 'endUpkeep' | 'migrated' | 'close'>,
  demo: DemoAccess | null,
): Promise<Served> {
  const { tracing } = app.config;
  // Imported only if spans are exported, because the packages take time and memory.
  const stopTracing =
    tracing === undefined ? undefined : (await import('../platform/tracing-export.ts')).startTracing(tracing, app.log);
  app.config.cookieId = await settleCookieId(app);
  await noteFilesPlace(app);
  await applyDeclaredProviders(app);
  const graphql = createGraphQL(app, {
    schema: buildSchema(),
    eventStream: (parts) => createEventStreamTransport(app, parts),
    page: createGraphiQL(
      app,
      demo === null ? undefined : { access: demo, registerQueue: () => registerDemoQueue(app, demo.owner) },
    ),
  });
  const sockets = createWebSocketTransport(app, graphql);
  const server = createServer(app, {
    graphql: (request, response) => graphql.handle(request, response),
    upgrade: (request, socket, head) => sockets.upgrade(request, socket, head),
    demo,
  });
  const listening = await listen(server, app.config.port, app.config.host);
  const { port } = listening;
  app.config.port = port;
  const metrics = await serveMetrics(app);
  deliveries.start();
  mail.start();
  counting.start();
  retention.start();
  attachments.start();
  deciding.start();
  pushing.start();
  missedMail.start();
  digesting.start();
  previewing.start();
  auditing.start();
  indexing.start();
  // The restart is announced in the background, so that its events do not delay requests.
  const announced = announceRestart(app).catch((err: unknown) => app.log.warn({ err }, 'restart events failed'));
  return {
    port,
    async close() {
      // Queued connections are accepted before any response is marked as the last of its connection. After such a response, a
      // proxy opens a new connection, which would be reset when the port closes.
      await listening.acceptWaiting();
      const closed = closeServer(server, listening, { drainMs: DRAIN_MS, graceMs: GRACE_MS });
      metrics?.close().closeAllConnections();
      // The workers are stopped while requests finish, so that the shutdown waits for both at the same time.
      const delivered = Promise.all([
        deliveries.stop(),
        mail.stop(),
        counting.stop(),
        indexing.stop(),
        auditing.stop(),
        retention.stop(),
        attachments.stop(),
        deciding.stop(),
        pushing.stop(),
        missedMail.stop(),
        digesting.stop(),
        previewing.stop(),
      ]);
      await sockets.close();
      await app.queues.stop();
      await delivered;
      await announced;
      await closed;
      await stopTracing?.();
    },
  };
}

/**
 * Idle timeout of the event queue for a visit to GraphiQL, in seconds. After the visitor closes the page, the queue remains for
 * an hour.
 */
const DEMO_QUEUE_SECS = 3600;

/** Registers an event queue of the demo owner for one visit to GraphiQL. The last tab of GraphiQL subscribes to the queue. */
async function registerDemoQueue(app: App, { apiKey }: DemoOwner): Promise<string> {
  const request = await signIn(app, {
    host: hostOf(app.config, ''),
    authorization: `Bearer ${apiKey}`,
    allowBearer: true,
    userAgent: 'GraphiQL',
  });
  const { queueId } = await registerQueue(signedIn(request), {
    options: {
      applyMarkdown: true,
      clientGravatar: true,
      includeSubscribers: 'false',
      slimPresence: true,
      capabilities: NO_CAPABILITIES,
      eventTypes: null,
      allPublicChannels: false,
      narrow: [],
    },
    fetchEventTypes: [],
    idleTimeoutSecs: DEMO_QUEUE_SECS,
  });
  return queueId;
}
