import { type Html, html, page, snippet } from '../../api/html.ts';
import type { DemoOwner } from '../demo/demo-access.ts';
import { callsOf } from './developer-calls.ts';
import type { ExampleClient } from './example-clients.ts';
import { LIVE_FORM, LIVE_SCRIPT, TRANSPORTS } from './live-script.ts';
import { START_SCRIPT } from './start.ts';

/** Script of the developers' page. It sends the token of the start URL to the server, and shows live events. */
export const DEVELOPERS_SCRIPT = START_SCRIPT + LIVE_SCRIPT;

interface Options {
  readonly hasStartAddress: boolean;
  readonly hasSchema: boolean;
  readonly examples: readonly ExampleClient[];
}

/**
 * Returns the developers' page: an overview, example calls to copy, and events that are shown as they arrive.
 *
 * @param origin Origin at which the visitor reached the service, such as `http://127.0.0.1:4000`.
 * @param owner Demo owner whose credentials the calls contain. Null: the calls contain placeholders.
 */
export function developersPage(
  origin: string,
  owner: DemoOwner | null,
  { hasStartAddress, hasSchema, examples }: Options,
): string {
  const calls = callsOf(origin, owner === null ? 'YOUR_API_EMAIL:YOUR_API_KEY' : `${owner.email}:${owner.apiKey}`);
  return page(
    'For developers',
    html`<header class="top">
<p><a href="/">Team chat service</a></p>
<h1>For developers</h1>
<p class="lead">One service with three interfaces: GraphQL, REST, and live events over both. Each change, over any of them,
is an event for the clients of all, in one order and with one number.</p>
<nav aria-label="Pages"><ul class="pages">
<li><a href="/graphql">GraphiQL</a></li>
<li><a href="/docs">REST reference</a></li>
<li><a href="/docs/events">Events</a></li>

${examples.map(
  ({ path, title }) => html`<li><a href="${path}">${title}</a></li>
`,
)}</ul></nav>
</header>
<main>
<p id="refused" class="card" role="alert" hidden>This start address is invalid, or belongs to an earlier start.
Open the address that the server printed at its last start.</p>
${owner === null ? signInNotice(hasStartAddress) : demoNotice(owner)}
${live(owner)}
<h2 id="graphql">GraphQL</h2>
<div class="card">
<p>One endpoint for queries, mutations and subscriptions. These calls read the viewer, read the last messages, and send one:</p>
${snippet(calls.graphql, 'Read and send messages over GraphQL')}
</div>
<h2 id="rest">REST</h2>
<div class="card">
<p>The same three calls: form fields in the request, JSON in the reply, under <code>/api/v1</code>.</p>
${snippet(calls.rest, 'Read and send messages over REST')}
</div>
<h2 id="events">Events</h2>
<div class="card">
<p>Register a queue, send a message, and read the queue. It keeps the events that happen while you are disconnected:</p>
${snippet(calls.events, 'Register a queue, send a message and read the event')}
</div>
${explanations(calls)}
<h2 id="more">More</h2>
<ul class="links">
<li><a href="/graphql">GraphiQL</a><span>Write and run GraphQL in the browser. The last tab subscribes to events</span></li>
<li><a href="/docs">REST reference</a><span>All endpoints, each with a call that runs and its reply</span></li>

<li><a href="/docs/events">Events</a><span>All event types in REST and GraphQL, with their recipients</span></li>
<li><a href="/api/v1/openapi.json">OpenAPI 3.1</a><span>The REST reference, for programs</span></li>
${hasSchema ? SCHEMA_LINK : undefined}${examples.map(exampleLink)}</ul>
</main>
<footer>Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a></footer>`,
    DEVELOPERS_SCRIPT,
  );
}

const SCHEMA_LINK = html`<li><a href="/schema.graphql">GraphQL schema</a><span>All types and fields, in one file</span></li>
`;

const exampleLink = ({ path, title, about }: ExampleClient): Html =>
  html`<li><a href="${path}">${title}</a><span>${about}</span></li>
`;

function signInNotice(hasStartAddress: boolean): Html {
  const start = html`
<p>Did you start this server? Open the start address that it printed. The calls below then contain a valid key.</p>`;
  return html`<div class="card">
<p>Authenticate with HTTP Basic: your API email as user name, your API key as password. The same for people and
bots.</p>${hasStartAddress ? start : undefined}
</div>`;
}

function demoNotice({ email }: DemoOwner): Html {
  return html`<div class="card notice">
<p><strong>This is the demo organization.</strong> This browser opened the start address, so the calls below contain
the owner's key (<code>${email}</code>) and run unchanged. Other visitors see placeholders. The keys of all demo users,
with all roles, are in <code>demo.json</code> in the data directory.</p>
</div>`;
}

/**
 * Returns HTML with input fields for a message, and with one list for each of the three transports. The lists show the event of
 * the sent message.
 */
function live(owner: DemoOwner | null): Html {
  return html`<h2 id="watch">Live events</h2>
<div class="card" id="${LIVE_FORM}" role="group" aria-labelledby="watch">
<p>Send a message. Its event arrives over three transports, with the same position. Then stop the server with
<code>kill -9</code>, start it again, and send another message: each transport resumes where it stopped.</p>
<div class="fields">
<label>API email <input name="email" value="${owner?.email ?? ''}" autocomplete="off" spellcheck="false"></label>
<label>API key <input name="key" type="password" value="${owner?.apiKey ?? ''}" autocomplete="off"></label>
<label>Channel <input name="channel" value="general" autocomplete="off"></label>
<label>Message <input name="content" value="Hello" autocomplete="off"></label>
<button type="button">Send</button>
</div>
<p id="live-problem" role="alert" hidden></p>
<div class="columns">${TRANSPORTS.map(
    ({ id, name, about }) => html`
<section aria-labelledby="${id}-name">
<h3 id="${id}-name">${name}</h3>
<p class="soft">${about}<br><span id="${id}-state" role="status">not connected</span></p>
<div role="log" aria-labelledby="${id}-name"><ol id="${id}" class="events"></ol></div>
</section>`,
  )}
</div>
</div>`;
}

const explanations = (calls: ReturnType<typeof callsOf>): Html => html`<h2 id="sockets">WebSocket</h2>
<div class="card">
<p>Endpoint <code>/graphql</code>, subprotocol <code>graphql-transport-ws</code>. The first message, <code>connection_init</code>,
contains the credentials. Headers of the handshake are ignored, because browsers cannot set them. For the console of a browser,
or Node:</p>
${snippet(calls.webSocket, 'Subscribe over WebSocket, in JavaScript')}
<p>The server sends <code>ping</code>. Reply with <code>pong</code> and the same payload: this acknowledges all events before the
ping. After a disconnect, subscribe to the same queue again: it resumes after the acknowledged events.</p>
</div>
<h2 id="sse">Server-sent events</h2>
<div class="card">
<p>The same subscription over plain HTTP, for clients that cannot use WebSocket. Each frame has its position as
<code>id:</code>. To resume, send the last one as <code>Last-Event-ID</code>. This call reads for five seconds:</p>
${snippet(calls.serverSentEvents, 'Read server-sent events for five seconds')}
</div>
<h2 id="idempotency">Idempotent requests</h2>
<div class="card">
<p>If no reply arrives, the request may still have been executed. Send it again with the same <code>Idempotency-Key</code>:
it has no second effect, and the reply is the first one. GraphQL uses the same header, or
<code>extensions: {"idempotencyKey": "…"}</code> on a socket. Both of these calls return the same message id:</p>
${snippet(calls.idempotency, 'Send a message twice with one key')}
</div>`;
