import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type App, signedIn } from '../../access/context.ts';
import { signIn } from '../../access/sign-in.ts';
import { pageHeaders } from '../../api/html.ts';
import { countRequest } from '../../api/rate-limits.ts';
import type { Endpoint } from '../../api/rest/endpoint.ts';
import { readForm } from '../../api/rest/form.ts';
import { openApi } from '../../api/rest/openapi.ts';
import { API_PREFIX, type Web } from '../../api/rest/router.ts';
import { fileAnswer, sharedFile } from '../../api/shared-file.ts';
import type { DemoAccess, DemoOwner } from '../demo/demo-access.ts';
import { referenceOf } from './reference.ts';
import { START_PATH, START_SCRIPT, startPage } from './start.ts';

const SCHEMA_FILE = join(import.meta.dirname, '../../../schema.graphql');

/** Adds the public pages and files: the start page, the REST reference, the OpenAPI file and the GraphQL schema. */
export function addPages(web: Web, app: App, routes: readonly Endpoint[], demo: DemoAccess | null): void {
  const reference = once(() => referenceOf(routes));
  const description = once(() => file('application/json', JSON.stringify(openApi(routes), null, 2)));
  const schema = once(() => file('text/plain; charset=utf-8', readFileSync(SCHEMA_FILE, 'utf8')));
  const ownerFor = (incoming: IncomingMessage): DemoOwner | null =>
    demo?.isOpenTo(incoming) === true ? demo.owner : null;
  web.get('/', ({ env: { incoming } }) => {
    const text = startPage(originOf(app, incoming), ownerFor(incoming), {
      hasStartAddress: demo !== null,
      hasSchema: app.config.anonymousIntrospection,
    });
    return new Response(text, { headers: pageHeaders({ script: START_SCRIPT }) });
  });
  web.get('/docs', ({ env: { incoming } }) => {
    return inPieces(reference()(originOf(app, incoming), ownerFor(incoming)), pageHeaders());
  });
  if (demo !== null) web.post(START_PATH, ({ env }) => letIn(demo, env.incoming));
  web.get(`${API_PREFIX}/openapi.json`, ({ env }) => description()(env.incoming));
  web.get('/schema.graphql', async ({ env: { incoming } }) => {
    if (!app.config.anonymousIntrospection) await requireSignedIn(app, incoming);
    return schema()(incoming);
  });
}

/** @throws UnauthorizedError, and what signing in throws. */
async function requireSignedIn(app: App, incoming: IncomingMessage): Promise<void> {
  const { host, authorization, 'user-agent': userAgent } = incoming.headers;
  const facts = { host, authorization, userAgent, allowBearer: true };
  signedIn(await countRequest(app, incoming, () => signIn(app, facts), { told() {} }));
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
function file(type: string, text: string): (incoming: IncomingMessage) => Response {
  const made = sharedFile(text);
  const headers = { 'Content-Type': type, 'Cache-Control': 'no-cache' };
  return (incoming) => fileAnswer(made, incoming.headers['if-none-match'], headers);
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
