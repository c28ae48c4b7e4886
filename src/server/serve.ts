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

/** Our choice: how long requests under way may take to finish when the service stops. */
const GRACE_MS = 2_500;

/** A service that can be reached. */
export interface Served {
  readonly port: number;
  /** Sends clients away to come back later, lets requests under way finish, and closes the port. */
  close(): Promise<void>;
}

/**
 * Listens at the configured host and port, and delivers what was scheduled from then on. With port 0 the system chooses
 * one, and the configuration says it from then on.
 *
 * @param demo Who gets pages with the demo owner's key; null: nobody.
 * @throws Error with code EADDRINUSE when something else has the port.
 */
export async function serve(
  { app, deliveries, mail, counting }: Pick<Running, 'app' | 'deliveries' | 'mail' | 'counting'>,
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
  // In the background: what clients hear of it does not keep them from what they came for.
  const announced = announceRestart(app).catch((err: unknown) => app.log.warn({ err }, 'could not tell of the start'));
  return {
    port,
    async close() {
      const closed = closeServer(server, listening, GRACE_MS);
      metrics?.close().closeAllConnections();
      // What is being delivered has the time that requests have.
      const delivered = Promise.all([deliveries.stop(), mail.stop(), counting.stop()]);
      await sockets.close();
      await app.queues.stop();
      await delivered;
      await announced;
      await closed;
    },
  };
}

/** Our choice: an afternoon with the page open, and closed now and then. */
const DEMO_QUEUE_SECS = 3600;

/** A queue for one opening of the page that shows how to listen. */
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
