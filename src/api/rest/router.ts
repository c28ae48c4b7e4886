import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { type App, chargedAccountOf, type RequestCtx, signedIn } from '../../access/context.ts';
import { idempotencyKey, withIdempotencyKey } from '../../access/idempotency.ts';
import { anonymous, signIn } from '../../access/sign-in.ts';
import type { Budget } from '../../platform/budget.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { NotFoundError, requireScopes } from '../../platform/errors.ts';
import { chunksOf, isLong, JsonBytes, lengthOf, writeJson } from '../../platform/json-bytes.ts';
import { observeRefusal, observeRequest } from '../../platform/metrics.ts';
import { currentRequest, noteUser } from '../../platform/request-note.ts';
import { retryAfterHeader } from '../bare-answer.ts';
import { challengeOf } from '../cross-site.ts';
import { notFoundPage } from '../not-found-page.ts';
import { budgetHeaders, type Counting, countAddress, countRequest } from '../rate-limits.ts';
import { signInBy } from '../sessions.ts';
import {
  type Endpoint,
  type HandlerResult,
  type Http,
  RawJson,
  Redirect,
  scopesOf,
  slotsOf,
  takesIdempotencyKey,
} from './endpoint.ts';
import { type Fields, type Form, readForm, withQuery } from './form.ts';
import { isFile, isUpload, type Params, type ParamsReader, readerOf } from './params.ts';
import { type ReplyCheck, replyCheckOf } from './reply-check.ts';
import { FileUpload } from './upload.ts';

export const API_PREFIX = '/api/v1';

/** The `node:http` request and response of a call. */
export type Bindings = HttpBindings;

/** The Hono application, over `node:http`. */
export type Web = Hono<{ Bindings: HttpBindings }>;
type WebContext = Context<{ Bindings: HttpBindings }>;

const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'private, no-store',
} as const;

/** An endpoint that is prepared for serving. */
interface Prepared {
  readonly endpoint: Endpoint;
  readonly read: ParamsReader;
  /** Whether the endpoint accepts an idempotency key. */
  readonly takesKey: boolean;
  /** Checks each response against its declaration. Undefined unless CHECK_REPLIES is on. */
  readonly check: ReplyCheck | undefined;
}

/** All endpoints at one path. */
interface Resource {
  /** The path with parameters in braces, as in the documentation. */
  readonly template: string;
  /** The path as Hono expects it, with parameters named `s0`, `s1`, … */
  readonly pattern: string;
  readonly slots: readonly string[];
  readonly methods: ReadonlyMap<string, Prepared>;
  /** Methods for the Allow header, sorted. Contains HEAD if one of the methods is GET. */
  readonly allowed: readonly string[];
  /** Whether an endpoint at this path accepts a file. */
  readonly takesFile: boolean;
  /** Whether the body of a POST request is received as a stream, by its handler. */
  readonly streams: boolean;
}

/**
 * Creates the REST application, with every endpoint of `routes` under /api/v1.
 *
 * A request is matched by path, then by method, then it is authenticated. Its parameters are checked last. An unknown path or
 * method therefore gets the same response for all clients, and parameter errors reveal nothing to unauthenticated clients.
 */
export function createRestApp(app: App, routes: readonly Endpoint[]): Web {
  const web: Web = new Hono();
  for (const resource of resourcesOf(routes, app.config.checksReplies)) {
    web.all(API_PREFIX + resource.pattern, (c) => serve(app, resource, c));
  }
  web.notFound((c) => {
    observeRequest('other', 'unknown', 404, 0);
    if (wantsPage(c.env.incoming, c.req.path)) return notFoundPage(c.env.incoming.headers);
    return renderError(app, new NotFoundError(`There is no endpoint at ${c.req.path}`, { status: 404 }), c.req.path, {
      headers: HEADERS,
      requestHeaders: c.env.incoming.headers,
    });
  });
  return web;
}

/**
 * Returns whether the request comes from a browser that opens a page. All other requests, and all requests below /api, get
 * errors as JSON.
 */
const wantsPage = ({ method, headers }: IncomingMessage, path: string): boolean =>
  method === 'GET' && !path.startsWith('/api') && /\btext\/html\b/i.test(headers.accept ?? '');

/**
 * Groups the endpoints by path. More specific paths come first: fixed segments before integer parameters before text
 * parameters.
 */
function resourcesOf(routes: readonly Endpoint[], checksReplies: boolean): Resource[] {
  const byPattern = Map.groupBy(routes, patternOf);
  return [...byPattern]
    .map(([pattern, endpoints]) => resourceOf(pattern, endpoints, checksReplies))
    .sort(bySpecificity);
}

function resourceOf(pattern: string, endpoints: readonly Endpoint[], checksReplies: boolean): Resource {
  const methods = new Map<string, Prepared>();
  for (const endpoint of endpoints) {
    if (methods.has(endpoint.method)) throw new Error(`${endpoint.method} ${endpoint.path} is declared twice`);
    methods.set(endpoint.method, {
      endpoint,
      read: readerOf(endpoint.params, slotsOf(endpoint.path)),
      takesKey: takesIdempotencyKey(endpoint),
      check: checksReplies ? replyCheckOf(endpoint) : undefined,
    });
  }
  const get = methods.get('GET');
  if (get !== undefined) methods.set('HEAD', get);
  const template = endpoints[0]?.path ?? '';
  const slots = slotsOf(template).map((_, i) => `s${i}`);
  const takesFile = endpoints.some(({ params }) => Object.values(params).some(isFile));
  const streams = endpoints.some(({ params }) => Object.values(params).some(isUpload));
  const allowed = [...methods.keys()].sort();
  return { template: API_PREFIX + template, pattern, slots, methods, allowed, takesFile, streams };
}

function patternOf({ path, params }: { path: string; params: Params }): string {
  let slot = 0;
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return `:s${slot++}${SLOT_FORMS[params[name]?.encoding ?? ''] ?? ''}`;
  });
}

const SLOT_FORMS: Readonly<Record<string, string>> = { 'path-integer': '{[0-9]+}', 'path-tail': '{.+}' };

function bySpecificity(a: Resource, b: Resource): number {
  const rank = ({ pattern }: Resource) =>
    pattern
      .split('/')
      .map((segment) => (segment.startsWith(':') ? (segment.includes('{') ? 1 : 2) : 0))
      .join('');
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0;
}

async function serve(app: App, resource: Resource, c: WebContext): Promise<Response> {
  const startedAt = performance.now();
  const { incoming } = c.env;
  const note = currentRequest();
  if (note !== undefined) note.route = resource.template;
  const reply: Reply = {
    headers: HEADERS,
    requestHeaders: incoming.headers,
    answer: c.env.outgoing as ServerResponse,
    onBudget(budget) {
      reply.budget = budget;
      reply.headers = { ...HEADERS, ...budgetHeaders(budget) };
    },
  };
  let method = incoming.method ?? '';
  let response: Response;
  try {
    if (method === 'OPTIONS') {
      await countAddress(app, incoming, reply.onBudget);
      return options(resource, reply);
    }
    const streams = resource.streams && method === 'POST';
    const form = streams
      ? EMPTY_FORM
      : await readForm(incoming, resource.takesFile).catch((error) => countUnread(app, resource, c, reply, error));
    if (method === 'POST' && form.fields.has('method')) method = overridden(form.fields) ?? method;
    const prepared = resource.methods.get(method);
    if (prepared === undefined) {
      await countAddress(app, incoming, reply.onBudget);
      response = notAllowed(method, resource, reply);
    } else response = await run(app, prepared, resource, c, form, reply);
  } catch (error) {
    response = renderError(app, error, `${method} ${resource.template}`, reply);
  }
  const label = resource.methods.has(method) ? method : 'other';
  observeRequest(label, resource.template, response.status, (performance.now() - startedAt) / 1000);
  return response;
}

/**
 * Counts a request although its body could not be read. Like any other request, it counts towards the limit of the account or
 * IP address. Then throws `error`, the error of the body.
 *
 * @throws RateLimitHitError if no budget is left.
 * @throws UnauthorizedError, InvalidApiKeyError, OrganizationDeactivatedError, UserDeactivatedError or
 *   NonexistentSubdomainError if the sender cannot be authenticated.
 * @throws `error` otherwise.
 */
async function countUnread(
  app: App,
  { methods }: Resource,
  c: WebContext,
  reply: Reply,
  error: unknown,
): Promise<never> {
  const { incoming } = c.env;
  const auth = methods.get(incoming.method ?? '')?.endpoint.auth ?? 'basic';
  await countRequest(app, incoming, () => identify(app, auth, c), reply);
  throw error;
}

/** The form of a request whose body is received as a stream. */
const EMPTY_FORM: Form = { fields: new Map(), files: [] };

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Returns the method in the form field `method`, for clients that can send only POST. Undefined if the field is absent or does
 * not contain one of `METHODS`.
 */
function overridden(form: Fields): string | undefined {
  const method = form.get('method');
  return method !== undefined && METHODS.has(method) ? method : undefined;
}

/**
 * The parts of a response that are known before its body is rendered. The budget that is left after the request is added to the
 * headers.
 */
interface Reply extends Counting {
  headers: Readonly<Record<string, string>>;
  budget?: Budget;
  /** Headers of the request, which determine the additional headers of a 401. */
  readonly requestHeaders: IncomingHttpHeaders;
}

async function run(
  app: App,
  { endpoint, read, takesKey, check }: Prepared,
  { template, slots, streams }: Resource,
  c: WebContext,
  form: Form,
  reply: Reply,
): Promise<Response> {
  const { incoming } = c.env;
  const sent = withQuery(incoming.url ?? '', form.fields);
  const request = await countRequest(app, incoming, () => identify(app, endpoint.auth, c, sent.get('client')), reply);
  const ctx = endpoint.auth === 'basic' ? signedIn(request) : request;
  if (ctx.viewer?.credential?.scopes !== undefined) requireScopes(ctx.viewer, scopesOf(endpoint));
  const inSlots = slots.length === 0 ? NO_SLOTS : slots.map((slot) => c.req.param(slot) ?? '');
  const { values, ignored } = read(inSlots, sent, form.files, streams ? new FileUpload(incoming) : undefined);
  const http = httpOf(c, reply);
  const { viewer } = ctx;
  const key = takesKey && viewer !== null ? incoming.headers['idempotency-key']?.toString() : undefined;
  const work = async () => {
    const answer =
      key === undefined || viewer === null
        ? await endpoint.handle(ctx, values, http)
        : await withIdempotencyKey(
            app.work,
            idempotencyKey({ app, viewer }, key, [endpoint.method, template, inSlots, [...sent].sort(), form.files]),
            (work) => endpoint.handle({ ...ctx, work }, values, http),
            { rendersStoredData: endpoint.rendersStoredData === true },
          );
    check?.(answer);
    return envelope(answer, ignored, reply);
  };
  if (viewer !== null) noteUser(viewer.id);
  return viewer === null || endpoint.waits === true ? work() : app.accountLimiter.run(chargedAccountOf(viewer), work);
}

const NO_SLOTS: readonly string[] = [];

function identify(app: App, auth: Endpoint['auth'], { env }: WebContext, client?: string): Promise<RequestCtx> {
  const { incoming } = env;
  const { host, authorization, 'user-agent': userAgent } = incoming.headers;
  if (auth !== 'basic') return anonymous(app, { host, userAgent, client });
  if (authorization !== undefined && authorization !== '')
    return signIn(app, { host, userAgent, client, authorization });
  return signInBy(app, incoming, { client, answer: env.outgoing as ServerResponse });
}

/**
 * Returns the `http` argument of a handler. The abort signal is created only when a handler reads it, because most handlers
 * finish before a client can disconnect.
 */
function httpOf({ env, req }: WebContext, reply: Reply): Http {
  return {
    get signal() {
      return req.raw.signal;
    },
    header(name) {
      const value = env.incoming.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    budget: reply.budget,
    setCookie(cookie) {
      (env.outgoing as ServerResponse).appendHeader('set-cookie', cookie);
    },
  };
}

async function envelope(answer: HandlerResult, ignored: readonly string[], { headers }: Reply): Promise<Response> {
  if (answer instanceof Redirect)
    return new Response(null, { status: 302, headers: { ...headers, Location: answer.url } });
  if (answer instanceof RawJson) {
    const text = ignored.length === 0 ? answer.text : spliced(answer.text, ignored);
    return typeof text === 'string' ? new Response(text, { headers }) : inPieces(text, headers);
  }
  const success = { result: 'success', msg: '', ...answer };
  const body = ignored.length === 0 ? success : { ...success, ignored_parameters_unsupported: ignored };
  if (!isLong(body)) return json(200, body, headers);
  // The body is not streamed, so that it counts as outbound backlog of the account until the client has read it.
  const { pieces } = await writeJson(body, isLong);
  return new Response(Buffer.concat(pieces), { headers });
}

/** Adds the names of the ignored parameters to a JSON body. @param text A JSON object with at least one field. */
function spliced(text: string | JsonBytes, ignored: readonly string[]): string | JsonBytes {
  const end = `,"ignored_parameters_unsupported":${JSON.stringify(ignored)}}`;
  if (typeof text === 'string') return text.slice(0, text.lastIndexOf('}')) + end;
  const last = text.pieces.at(-1) ?? NOTHING;
  return new JsonBytes(
    ...text.pieces.slice(0, -1),
    last.subarray(0, last.lastIndexOf(CLOSING_BRACE)),
    Buffer.from(end),
  );
}

const NOTHING = new Uint8Array();
const CLOSING_BRACE = 0x7d;

/** Returns a response that is sent in chunks, as fast as the client reads them. The event loop can run between two chunks. */
function inPieces(text: JsonBytes, headers: Readonly<Record<string, string>>): Response {
  const chunks = chunksOf(text);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(body, { headers: { ...headers, 'Content-Length': String(lengthOf(text)) } });
}

function json(status: number, body: object, headers: Readonly<Record<string, string>> = HEADERS): Response {
  // The HTTP server has a fast path for plain header objects and string bodies, which creates no Headers objects and no
  // streams.
  return new Response(JSON.stringify(body), { status, headers });
}

function options({ allowed }: Resource, { headers }: Reply): Response {
  const { 'Content-Type': _, ...others } = headers;
  return new Response(null, { status: 204, headers: { ...others, Allow: allowed.join(', ') } });
}

function notAllowed(method: string, { allowed }: Resource, { headers }: Reply): Response {
  const msg = `Method ${method} is not allowed here`;
  observeRefusal('rest', 'BAD_REQUEST');
  const body = { result: 'error', msg, code: 'BAD_REQUEST', allowed_methods: allowed };
  return json(405, body, { ...headers, Allow: allowed.join(', ') });
}

/**
 * Returns the response for a thrown error. An error that is not expected is a bug: it is logged, and the client receives no
 * details.
 */
function renderError(
  app: App,
  thrown: unknown,
  what: string,
  reply: Pick<Reply, 'headers' | 'requestHeaders'>,
): Response {
  const error = expectedError(thrown);
  if (error === undefined) {
    app.log.error({ err: thrown, request: what }, 'request failed');
    observeRefusal('rest', 'INTERNAL_SERVER_ERROR');
    return json(500, { result: 'error', msg: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' }, reply.headers);
  }
  const { status, message, code, data } = error;
  observeRefusal('rest', code);
  const headers = status === 401 ? { ...reply.headers, ...challengeOf(reply.requestHeaders) } : reply.headers;
  const wait = data['retry-after'];
  return json(
    status,
    { result: 'error', msg: message, code, ...data },
    typeof wait === 'number' ? { ...headers, 'Retry-After': retryAfterHeader(wait) } : headers,
  );
}
