import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type App, signedIn } from '../../access/context.ts';
import { ICON, ICON_PATH, pageHeaders } from '../../api/html.ts';
import { countRequest } from '../../api/rate-limits.ts';
import { readForm } from '../../api/rest/form.ts';
import { openApi } from '../../api/rest/openapi.ts';
import { API_PREFIX, type Web } from '../../api/rest/router.ts';
import { signInBy } from '../../api/sessions.ts';
import { fileAnswer, sharedFile } from '../../api/shared-file.ts';
import type { DemoAccess, DemoOwner } from '../demo/demo-access.ts';
import { addDemoSessions } from '../demo/demo-sessions.ts';
import { features, routes } from '../registries/endpoints.ts';
import { addChat } from './chat.ts';
import { DEVELOPERS_SCRIPT, developersPage } from './developers.ts';
import { eventsReference } from './events-reference.ts';
import { type ExampleClient, exampleClients } from './example-clients.ts';
import { GRAPHIQL_FILE_ROUTE, graphiqlFileAnswer } from './graphiql-files.ts';
import { referenceOf } from './reference.ts';
import { SEARCH_SCRIPT } from './search.ts';
import { START_PATH } from './start.ts';

const DEVELOPERS_PATH = '/developers';
const SCHEMA_FILE = join(import.meta.dirname, '../../../schema.graphql');

/** Adds the public pages and files: the chat, the start for developers, the references, the OpenAPI file and the GraphQL schema. */
export function addPages(web: Web, app: App, demo: DemoAccess | null): void {
  const reference = once(() => referenceOf(features));
  const examples = exampleClients();
  const events = once(() => Buffer.from(eventsReference()));
  const description = once(() => file('application/json', JSON.stringify(openApi(routes), null, 2)));
  const schema = once(() => file('text/plain; charset=utf-8', readFileSync(SCHEMA_FILE, 'utf8')));
  const ownerFor = (incoming: IncomingMessage): DemoOwner | null =>
    demo?.isOpenTo(incoming) === true ? demo.owner : null;
  addChat(web, app);
  web.get(DEVELOPERS_PATH, ({ env: { incoming } }) => {
    const owner = ownerFor(incoming);
    const text = developersPage(originOf(app, incoming), owner, {
      hasStartAddress: demo !== null,
      hasSchema: app.config.anonymousIntrospection,
      examples,
    });
    return new Response(text, { headers: pageHeaders({ script: DEVELOPERS_SCRIPT, hasSecret: owner !== null }) });
  });
  web.get('/docs', ({ env: { incoming } }) => {
    const owner = ownerFor(incoming);
    const headers = pageHeaders({ script: SEARCH_SCRIPT, hasSecret: owner !== null });
    return inPieces(reference()(originOf(app, incoming), owner), headers);
  });
  web.get('/docs/events', () => inPieces([events()], pageHeaders({ script: SEARCH_SCRIPT })));
  if (demo !== null) {
    web.post(START_PATH, ({ env }) => letIn(demo, env.incoming));
    addDemoSessions(web, app, demo);
  }
  web.get(`${API_PREFIX}/openapi.json`, ({ env }) => description()(env.incoming));
  addFiles(web, examples);
  web.get('/schema.graphql', async ({ env: { incoming } }) => {
    if (!app.config.anonymousIntrospection) await requireSignedIn(app, incoming);
    return schema()(incoming);
  });
}

/** Adds what pages are made of, and clients to copy. */
function addFiles(web: Web, examples: readonly ExampleClient[]): void {
  const icon = file('image/svg+xml', ICON);
  for (const path of [ICON_PATH, '/favicon.ico']) web.get(path, ({ env }) => icon(env.incoming));
  for (const { path, text } of examples) {
    const example = file('text/plain; charset=utf-8', text);
    web.get(path, ({ env }) => example(env.incoming));
  }
  web.get(GRAPHIQL_FILE_ROUTE, async ({ env: { incoming }, req, notFound }) => {
    return (await graphiqlFileAnswer(req.path, incoming.headers)) ?? notFound();
  });
}

/** @throws UnauthorizedError, and what signing in throws. */
async function requireSignedIn(app: App, incoming: IncomingMessage): Promise<void> {
  signedIn(await countRequest(app, incoming, () => signInBy(app, incoming, { allowBearer: true }), { told() {} }));
}

/** Gives a cookie to the browser that shows the token of the start address. */
async function letIn(demo: DemoAccess, incoming: IncomingMessage): Promise<Response> {
  const { fields } = await readForm(incoming, false);
  const cookie = demo.enter(fields.get('token') ?? '');
  const headers = { 'Cache-Control': 'private, no-store' };
  if (cookie === undefined) return new Response('This is not the start address\n', { status: 403, headers });
  return new Response(null, { status: 204, headers: { ...headers, 'Set-Cookie': cookie } });
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Sends bytes that other answers may share, without copying them into one. */
function inPieces(pieces: readonly Uint8Array[], headers: Readonly<Record<string, string>>): Response {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return new Response(body, { headers: { ...headers, 'Content-Length': String(size) } });
}

/** Serves `text` under an address where it may change with the next version. */
function file(type: string, text: string): (incoming: IncomingMessage) => Promise<Response> {
  const made = sharedFile(text);
  const headers = { 'Content-Type': type, 'Cache-Control': 'no-cache' };
  return (incoming) => fileAnswer(made, incoming.headers, headers);
}

/**
 * Where the visitor found the service. A Host that is no host name is not shown: the calls of the pages are made to be
 * pasted into a shell.
 */
function originOf({ config }: App, { headers }: IncomingMessage): string {
  const host = headers.host ?? '';
  const shown = /^([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d+)?$/i.test(host) ? host : (config.externalHost ?? 'localhost');
  return `${headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${shown}`;
}
