import { type App, signedIn } from '../access/context.ts';
import { signIn } from '../access/sign-in.ts';
import { announceRestart } from '../administration/organization/restart.ts';
import { createGraphQL } from '../api/graphql/server.ts';
import { createEventStreamTransport } from '../api/graphql/sse.ts';
import { createWebSocketTransport } from '../api/graphql/websocket.ts';
import { NO_CAPABILITIES } from '../events/view.ts';
import { hostOf } from '../platform/hosts.ts';
import type { DemoAccess, DemoOwner } from './demo/demo-access.ts';
import { serveMetrics } from './health.ts';
import { closeServer, createServer } from './http.ts';
import { listen } from './listen.ts';
import { createGraphiQL } from './pages/graphiql.ts';
import { registerQueue } from './registration/service.ts';
import { buildSchema } from './registries/schema.ts';
import type { Running } from './start.ts';

/** Time for requests in progress to finish when the service stops. */
const GRACE_MS = 2_500;
/** Connections in use get another request within this time, and its response says that it is the last one. */
const DRAIN_MS = 1_000;

/** A service that listens. */
export interface Served {
  readonly port: number;
  /** Disconnects clients, which reconnect later, lets requests in progress finish, and closes the port. */
  close(): Promise<void>;
}

/**
 * Listens at the configured host and port, and starts the delivery of scheduled messages. With port 0, the operating system
 * chooses a port, and the configuration is updated with it.
 *
 * @param demo Access to pages with the demo owner's key. Null: no browser has access.
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
  }: Pick<Running, 'app' | 'deliveries' | 'mail' | 'counting' | 'indexing' | 'retention'>,
  demo: DemoAccess | null,
): Promise<Served> {
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
  indexing.start();
  // In the background, so that the events of the restart do not delay requests.
  const announced = announceRestart(app).catch((err: unknown) => app.log.warn({ err }, 'restart events failed'));
  return {
    port,
    async close() {
      // Before any response is marked as the last: a proxy then opens a new connection, which the closing port would reset.
      await listening.acceptWaiting();
      const closed = closeServer(server, listening, { drainMs: DRAIN_MS, graceMs: GRACE_MS });
      metrics?.close().closeAllConnections();
      // Deliveries in progress have as much time as requests.
      const delivered = Promise.all([
        deliveries.stop(),
        mail.stop(),
        counting.stop(),
        indexing.stop(),
        retention.stop(),
      ]);
      await sockets.close();
      await app.queues.stop();
      await delivered;
      await announced;
      await closed;
    },
  };
}

/** Lifetime without a reader: an afternoon with the page open, and closed from time to time. */
const DEMO_QUEUE_SECS = 3600;

/** Registers a queue for one visit to the page that demonstrates subscriptions. */
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
