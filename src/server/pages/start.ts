import { type Html, html, page, shellWord, snippet } from '../../api/html.ts';
import type { DemoOwner } from '../demo/demo-access.ts';

/** Where the start page shows the token it was opened with. */
export const START_PATH = '/start';

/** Takes the token out of the address before anything else, so that no history, bookmark or screen keeps it. */
export const START_SCRIPT = `
const enter = async () => {
  const token = /^#start=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, '', location.pathname);
  const body = new URLSearchParams({ token });
  const isLetIn = await fetch('${START_PATH}', { method: 'POST', body })
    .then(async (answer) => (await answer.text(), answer.ok))
    .catch(() => false);
  if (isLetIn) location.reload();
  else document.getElementById('refused').hidden = false;
};
addEventListener('hashchange', enter);
enter();
`;

/**
 * The start page: what this is, and one call of each kind to copy.
 *
 * @param origin Where the visitor found the service: `http://127.0.0.1:4000`.
 * @param owner Whose key the calls hold; null: they hold a placeholder.
 */
export function startPage(
  origin: string,
  owner: DemoOwner | null,
  { hasStartAddress, hasSchema }: { readonly hasStartAddress: boolean; readonly hasSchema: boolean },
): string {
  const login = shellWord(owner === null ? 'YOUR_API_EMAIL:YOUR_API_KEY' : `${owner.email}:${owner.apiKey}`);
  return page(
    'Team chat service',
    html`<header class="top">
<h1>Team chat service</h1>
<p class="lead">Channels, drafts, snippets and a durable event queue for people and bots, in one process with three ways in:
GraphQL, REST, and live events over either. A change by one of them is an event for clients of all.</p>
</header>
<main>
<p id="refused" class="card" role="alert" hidden>This start address is not, or no longer, that of this server: open the one it printed
when it was started.</p>
${owner === null ? signInNotice(hasStartAddress) : demoNotice(owner)}
<h2 id="rest">REST</h2>
<div class="card">
<p>Form fields in, JSON out, under <code>/api/v1</code>. This asks who you are:</p>
${snippet(`curl -u ${login} ${shellWord(`${origin}/api/v1/users/me`)}`, 'Ask over REST who you are')}
<p>And this saves a draft, which every listening client of yours hears of:</p>
${snippet(draftCall(origin, login), 'Save a draft over REST')}
</div>
<h2 id="graphql">GraphQL</h2>
<div class="card">
<p>One address for queries, mutations and subscriptions (WebSocket and SSE), with the same sign-in:</p>
${snippet(viewerCall(origin, login), 'Ask over GraphQL who you are')}
</div>
<h2 id="more">Look around</h2>
<ul class="links">
<li><a href="/graphql">GraphiQL</a><span>Write and run GraphQL in the browser</span></li>
<li><a href="/docs">REST reference</a><span>Every endpoint, with its parameters and a call to copy</span></li>
<li><a href="/api/v1/openapi.json">OpenAPI 3.1</a><span>The same, for programs</span></li>
${hasSchema ? SCHEMA_LINK : undefined}</ul>
</main>
<footer>Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a></footer>`,
    START_SCRIPT,
  );
}

const SCHEMA_LINK = html`<li><a href="/schema.graphql">GraphQL schema</a><span>Every type and field, in one file</span></li>
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

function draftCall(origin: string, login: string): string {
  const drafts = JSON.stringify([{ type: 'stream', to: [1], topic: 'greetings', content: 'Hello!' }]);
  return `curl -u ${login} ${shellWord(`${origin}/api/v1/drafts`)} \\\n  --data-urlencode ${shellWord(`drafts=${drafts}`)}`;
}

function viewerCall(origin: string, login: string): string {
  const body = JSON.stringify({ query: '{ viewer { databaseId fullName role } }' });
  return [
    `curl -u ${login} ${shellWord(`${origin}/graphql`)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${shellWord(body)}`,
  ].join('\n');
}
