import { type Html, html, page, snippet } from '../../api/html.ts';
import type { DemoOwner } from '../demo/demo-access.ts';
import { callsOf } from './developer-calls.ts';
import type { ExampleClient } from './example-clients.ts';
import { LIVE_FORM, LIVE_SCRIPT, TRANSPORTS } from './live-script.ts';
import { START_SCRIPT } from './start.ts';

/** All that the page does: lets in who shows the start token, and listens. */
export const DEVELOPERS_SCRIPT = START_SCRIPT + LIVE_SCRIPT;

interface Options {
  readonly hasStartAddress: boolean;
  readonly hasSchema: boolean;
  readonly examples: readonly ExampleClient[];
}

/**
 * The start for developers: what there is, calls of each kind to copy, and events to be watched as they come.
 *
 * @param origin Where the visitor found the service: `http://127.0.0.1:4000`.
 * @param owner Whose key the calls hold; null: they hold a placeholder.
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
<p class="lead">One set of services with three ways in: GraphQL, REST, and live events over either. A change by one of them
is an event for clients of all, in one order, under one number.</p>
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
<p id="refused" class="card" role="alert" hidden>This start address is not, or no longer, that of this server: open the one it printed
when it was started.</p>
${owner === null ? signInNotice(hasStartAddress) : demoNotice(owner)}
${live(owner)}
<h2 id="graphql">GraphQL</h2>
<div class="card">
<p>One address for queries, mutations and subscriptions. Who am I; what was said last; say something:</p>
${snippet(calls.graphql, 'Ask and write over GraphQL')}
</div>
<h2 id="rest">REST</h2>
<div class="card">
<p>The same three: form fields in, JSON out, under <code>/api/v1</code>.</p>
${snippet(calls.rest, 'Ask and write over REST')}
</div>
<h2 id="events">Events</h2>
<div class="card">
<p>Register a queue, make something happen, and read the queue. It holds what happened while you were away:</p>
${snippet(calls.events, 'Register a queue, send a message and read the event')}
</div>
${explanations(calls)}
<h2 id="more">Look around</h2>
<ul class="links">
<li><a href="/graphql">GraphiQL</a><span>Write and run GraphQL in the browser; its last tab listens</span></li>
<li><a href="/docs">REST reference</a><span>Every endpoint, with a call that runs and its answer</span></li>

<li><a href="/docs/events">Events</a><span>Every type, in REST and in GraphQL, and who hears it</span></li>
<li><a href="/api/v1/openapi.json">OpenAPI 3.1</a><span>The REST reference for programs</span></li>
${hasSchema ? SCHEMA_LINK : undefined}${examples.map(exampleLink)}</ul>
</main>
<footer>Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a></footer>`,
    DEVELOPERS_SCRIPT,
  );
}

const SCHEMA_LINK = html`<li><a href="/schema.graphql">GraphQL schema</a><span>Every type and field, in one file</span></li>
`;

const exampleLink = ({ path, title, about }: ExampleClient): Html =>
  html`<li><a href="${path}">${title}</a><span>${about}</span></li>
`;

function signInNotice(hasStartAddress: boolean): Html {
  const start = html`
<p>Did you start this server? Open the start address it printed, and the calls below hold a key that works.</p>`;
  return html`<div class="card">
<p>Sign in with HTTP Basic: your API email as user name, your API key as password. Users and bots alike.</p>${hasStartAddress ? start : undefined}
</div>`;
}

function demoNotice({ email }: DemoOwner): Html {
  return html`<div class="card notice">
<p><strong>This is the demo organization.</strong> Because this browser opened the start address, the calls below hold
the owner's own key (<code>${email}</code>): they run as they are. Others see placeholders. The keys of all demo users,
of every role, are in <code>demo.json</code> in the data directory.</p>
</div>`;
}

/** One message, and three lists in which it arrives. */
function live(owner: DemoOwner | null): Html {
  return html`<h2 id="watch">Watch it arrive</h2>
<div class="card" id="${LIVE_FORM}" role="group" aria-labelledby="watch">
<p>Send a message, and see its event come in three ways, with the same position. Then stop the server with
<code>kill -9</code>, start it, and send another: each goes on where it was.</p>
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
<p class="soft">${about}<br><span id="${id}-state" role="status">not listening yet</span></p>
<div role="log" aria-labelledby="${id}-name"><ol id="${id}" class="events"></ol></div>
</section>`,
  )}
</div>
</div>`;
}

const explanations = (calls: ReturnType<typeof callsOf>): Html => html`<h2 id="sockets">WebSocket</h2>
<div class="card">
<p>At <code>/graphql</code>, subprotocol <code>graphql-transport-ws</code>. The first message, <code>connection_init</code>,
carries the sign-in: the handshake's own headers count for nothing, for a browser cannot set them. In a browser's console, or
in Node:</p>
${snippet(calls.webSocket, 'Listen over WebSocket, in JavaScript')}
<p>The server sends <code>ping</code>; answer <code>pong</code> with the same payload, and what came before it counts as
delivered. After a break subscribe again to the same queue: it goes on after what you have.</p>
</div>
<h2 id="sse">Server-sent events</h2>
<div class="card">
<p>The same subscription over plain HTTP, for whoever cannot hold a WebSocket. Each frame has its position as
<code>id:</code>; send the last one as <code>Last-Event-ID</code> to go on after it. Five seconds of it:</p>
${snippet(calls.serverSentEvents, 'Listen to server-sent events for five seconds')}
</div>
<h2 id="idempotency">Once, although it was sent twice</h2>
<div class="card">
<p>A request whose answer never came may have been done. Send it again under the same <code>Idempotency-Key</code>: there is no
second effect, and the answer is the first one. In GraphQL it is a header as well, or
<code>extensions: {"idempotencyKey": "…"}</code> on a socket. Both of these give the same message id:</p>
${snippet(calls.idempotency, 'Send a message twice under one key')}
</div>`;
