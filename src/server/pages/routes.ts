import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type App, signedIn } from '../../access/context.ts';
import { findOrganization } from '../../access/sign-in.ts';
import { ICON, ICON_PATH, pageHeaders } from '../../api/html.ts';
import { countRequest } from '../../api/rate-limits.ts';
import { readForm } from '../../api/rest/form.ts';
import { openApi } from '../../api/rest/openapi.ts';
import { API_PREFIX, type Web } from '../../api/rest/router.ts';
import { headersOf, isOverHttps, signInBy } from '../../api/sessions.ts';
import { fileAnswer, sharedFile, sharedFiles } from '../../api/shared-file.ts';
import { NonexistentSubdomainError, OrganizationMovedError, requireScopes } from '../../platform/errors.ts';
import { hostOf, isOwnHost, subdomainOf } from '../../platform/hosts.ts';
import type { DemoAccess, DemoOwner } from '../demo/demo-access.ts';
import { addDemoSessions } from '../demo/demo-sessions.ts';
import { routes, SECTIONS } from '../registries/features.ts';
import { addChat, isChatPath } from './chat.ts';
import { DEVELOPERS_SCRIPT, developersPage } from './developers.ts';
import { eventsReference } from './events-reference.ts';
import { type ExampleClient, exampleClients } from './example-clients.ts';
import { GRAPHIQL_FILE_ROUTE, graphiqlFileAnswer } from './graphiql-files.ts';
import { referenceOf } from './reference.ts';
import { SEARCH_SCRIPT } from './search.ts';
import { START_PATH } from './start.ts';

const DEVELOPERS_PATH = '/developers';
const SCHEMA_FILE = join(import.meta.dirname, '../../../schema.graphql');

/**
 * Adds the public pages and files: the chat, the page for developers, the REST and events references, the OpenAPI file and the
 * GraphQL schema.
 *
 * @param demo Access to the API key of the demo owner. Null: no browser has access.
 */
export function addPages(web: Web, app: App, demo: DemoAccess | null): void {
  const reference = once(() => referenceOf(SECTIONS));
  const docs = sharedFiles((origin) => Buffer.concat(reference()(origin, null)));
  const examples = exampleClients();
  const developers = { hasStartAddress: demo !== null, hasSchema: app.config.anonymousIntrospection, examples };
  const start = sharedFiles((origin) => developersPage(origin, null, developers));
  const events = once(() => sharedFile(eventsReference()));
  const description = once(() => file('application/json', JSON.stringify(openApi(routes), null, 2)));
  const schema = once(() => file('text/plain; charset=utf-8', readFileSync(SCHEMA_FILE, 'utf8')));
  const ownerFor = (incoming: IncomingMessage): DemoOwner | null =>
    demo?.isOpenTo(incoming) === true ? demo.owner : null;
  addChat(web);
  web.get(DEVELOPERS_PATH, async ({ env: { incoming } }) => {
    const owner = ownerFor(incoming);
    const origin = await originOf(app, incoming);
    if (owner === null) return fileAnswer(start(origin), incoming.headers, publicHeaders(DEVELOPERS_SCRIPT));
    const text = developersPage(origin, owner, developers);
    return new Response(text, { headers: pageHeaders({ script: DEVELOPERS_SCRIPT, hasSecret: true }) });
  });
  web.get('/docs', async ({ env: { incoming } }) => {
    const owner = ownerFor(incoming);
    const origin = await originOf(app, incoming);
    if (owner === null) return fileAnswer(docs(origin), incoming.headers, publicHeaders(SEARCH_SCRIPT));
    return inPieces(reference()(origin, owner), pageHeaders({ script: SEARCH_SCRIPT, hasSecret: true }));
  });
  web.get('/docs/events', ({ env: { incoming } }) =>
    fileAnswer(events(), incoming.headers, publicHeaders(SEARCH_SCRIPT)),
  );
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

/** Returns the headers of a page without secrets. Browsers cache the page, but revalidate it for each request. */
const publicHeaders = (script: string) => ({ ...pageHeaders({ script }), 'Cache-Control': 'private, no-cache' });

/**
 * Returns whether a path belongs to a prepared file or a stored image. One view of the chat loads dozens of images, so the rate
 * limits count these requests separately from requests for pages. All other paths count as pages.
 */
export const isPreparedFile = (path: string): boolean =>
  isChatPath(path) ||
  /^\/(assets|avatar|emoji|graphiql|static\/generated)\/[\w./-]+$/.test(path) ||
  /^\/api\/v1\/users\/\d+\/avatar(\/medium)?$/.test(path) ||
  /^\/favicon\.(svg|ico)$/.test(path);

/** Adds the files that pages load, and the example clients. */
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

/**
 * Checks that a request is authenticated, and counts the request towards the rate limits.
 *
 * @throws UnauthorizedError if the request has no valid credentials.
 * @throws InvalidApiKeyError if no account of the host's organization has this email address and key.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account exists but may not sign in.
 * @throws NonexistentSubdomainError if the host does not belong to this server.
 * @throws RateLimitHitError if a rate limit is exceeded.
 */
async function requireSignedIn(app: App, incoming: IncomingMessage): Promise<void> {
  const signIn = () => signInBy(app, incoming, { allowBearer: true });
  const { viewer } = signedIn(await countRequest(app, incoming, signIn, { onBudget() {} }));
  requireScopes(viewer, 'read');
}

/**
 * Responds to a browser that sends a token of the start URL. If the token is valid, the response sets the cookie that grants
 * the browser access to the demo.
 */
async function letIn(demo: DemoAccess, incoming: IncomingMessage): Promise<Response> {
  const { fields } = await readForm(incoming, false);
  const cookie = demo.enter(fields.get('token') ?? '');
  const headers = { 'Cache-Control': 'private, no-store' };
  if (cookie === undefined) return new Response('Invalid start address\n', { status: 403, headers });
  return new Response(null, { status: 204, headers: { ...headers, 'Set-Cookie': cookie } });
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Returns a response whose body consists of several parts. The parts are not copied, because other responses may share them.
 */
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

/**
 * Returns a handler that serves `text`. Browsers revalidate the response for each request, because the next version of the
 * service may have another text at this path.
 */
function file(type: string, text: string): (incoming: IncomingMessage) => Promise<Response> {
  const made = sharedFile(text);
  const headers = { 'Content-Type': type, 'Cache-Control': 'no-cache' };
  return (incoming) => fileAnswer(made, incoming.headers, headers);
}

/**
 * Returns the origin (scheme, host name, port) of the service for the example calls of the pages, which visitors paste into a
 * shell.
 *
 * If the Host header is the server's own host or names an organization, the result is the origin at which the visitor reached
 * the service. Otherwise it is the configured origin. A page is made and cached for each origin, so clients must not be able to
 * choose any origin.
 */
async function originOf(app: App, { headers }: IncomingMessage): Promise<string> {
  const { config } = app;
  const host = headers.host?.toLowerCase() ?? '';
  const shown = isOwnHost(config, host) ? host : hostOf(config, await existingSubdomain(app, host));
  return `${isOverHttps(config, headersOf(headers)) ? 'https' : 'http'}://${shown}`;
}

/** Returns the subdomain of the organization that a Host header names, even if it has moved away; "" if it names none. */
async function existingSubdomain(app: App, host: string): Promise<string> {
  try {
    return (await findOrganization(app, host))?.subdomain ?? '';
  } catch (error) {
    if (error instanceof NonexistentSubdomainError) return '';
    if (error instanceof OrganizationMovedError) return subdomainOf(app.config, host);
    throw error;
  }
}
