import { type Html, html, page, prose, shellWord, snippet } from '../../api/html.ts';
import type { Endpoint } from '../../api/rest/endpoint.ts';
import { schemaOf } from '../../api/rest/openapi.ts';
import { isFile, type Param } from '../../api/rest/params.ts';
import { API_PREFIX } from '../../api/rest/router.ts';
import type { DemoOwner } from '../demo/demo-access.ts';
import type { Feature } from '../registries/endpoints.ts';
import { demoCallOf, nameOf, printedCall } from './calls/all.ts';
import exampleReplies from './example-replies.json' with { type: 'json' };
import { SEARCH_SCRIPT, searchField, searchTerms } from './search.ts';
import { typeName } from './type-name.ts';

/**
 * Makes the REST reference: pieces to be sent one after the other. All but the address and the sign-in is the same bytes
 * for everybody: whoever reads nothing of it, under whatever name they ask for it, has no copy of their own.
 */
export function referenceOf(features: readonly Feature[]): (origin: string, owner: DemoOwner | null) => Buffer[] {
  const [before = '', after = ''] = referencePage(features, VARIABLES).split(VARIABLES);
  const [first, last] = [Buffer.from(before), Buffer.from(after)];
  return (origin, owner) => [first, Buffer.from(html`${variables(origin, owner)}`.toString()), last];
}

/** Where the variables go, once. No text of the page holds it. */
const VARIABLES = '\0';

function referencePage(features: readonly Feature[], variables: string): string {
  return page(
    'REST reference',
    html`<header class="top">
<p><a href="/">Team chat service</a> · <a href="/developers">For developers</a> · <a href="/docs/events">Events</a></p>
<h1>REST reference</h1>
<p class="lead">Made from the table of endpoints that the server itself uses. For programs: <a href="/api/v1/openapi.json">OpenAPI 3.1</a>.</p>
</header>
<main>
<h2 id="rules">The rules of every endpoint</h2>
<div class="card">
${RULES}
<p>The calls on this page take three variables from your shell. On a fresh demo each runs as it is printed, in bash and zsh:</p>
${snippet(variables, 'Set the variables the calls use')}
</div>
<h2 id="endpoints">Endpoints</h2>
${searchField('Search endpoints', 'A path, a parameter, a word')}
<nav aria-label="Features" class="features">${features.map(index)}</nav>
${features.map(section)}
</main>
<footer></footer>`,
    SEARCH_SCRIPT,
  );
}

const RULES = html`<p>Paths are below <code>${API_PREFIX}</code>. Sign in with HTTP Basic: API email and API key.</p>
<p>Parameters are form fields: in the query string, or in a form-encoded body. Text is sent as it is; booleans, numbers, lists
and objects as JSON text, strictly typed (<code>"5"</code> and <code>5.0</code> are no integers). Names an endpoint does not
know are ignored, and listed in <code>ignored_parameters_unsupported</code> of the answer.</p>
<p>A success is <code>{"result": "success", "msg": "", …}</code> with the fields listed here. A failure is
<code>{"result": "error", "msg": "…", "code": "…"}</code>, with status 400, or a more telling one: 401 for the sign-in, 404 for
what is not there, 405 for the method, 429 for the rate, 503 for "try again", 507 for
"try again later": a disk is full. Programs look at <code>code</code>, never at
<code>msg</code>.</p>
<p>GraphQL calls the same functions, with the same permissions, validation and errors: each endpoint names what does the same
there. Its <code>databaseId</code> is the id of REST.</p>`;

function variables(origin: string, owner: DemoOwner | null): string {
  return [
    `URL=${shellWord(origin)}`,
    `EMAIL=${shellWord(owner?.email ?? 'YOUR_API_EMAIL')}`,
    `KEY=${shellWord(owner?.apiKey ?? 'YOUR_API_KEY')}`,
  ].join('\n');
}

function anchorOf({ method, path }: Endpoint): string {
  return `${method.toLowerCase()}${path.replaceAll(/[{}]/g, '').replaceAll('/', '-')}`;
}

/** A path that is broken between its segments where it does not fit in a line. */
const breakable = (path: string): Html =>
  html`${path
    .split('/')
    .slice(1)
    .map((segment) => html`<wbr>/${segment}`)}`;

/** What an endpoint is found by, besides the words of its feature. */
const termsOf = ({ method, path, summary, twins, params }: Endpoint, feature: Feature): string =>
  searchTerms([feature.name, method, path, summary, ...twins, ...Object.keys(params)]);

const index = (feature: Feature): Html => html`<details class="feature" data-group>
<summary>${feature.name}</summary>
<ul class="index">${feature.endpoints.map(
  (endpoint) =>
    html`<li data-terms="${termsOf(endpoint, feature)}"><a href="#${anchorOf(endpoint)}"><span class="method">${endpoint.method}</span>${breakable(endpoint.path)}</a></li>
`,
)}</ul>
</details>
`;

const section = (feature: Feature): Html => html`<section data-group>
<h2 id="${idOf(feature)}">${feature.name}</h2>
${feature.about === undefined ? undefined : html`<p class="soft">${feature.about}</p>`}
${feature.endpoints.map((endpoint) => article(endpoint, termsOf(endpoint, feature)))}
</section>
`;

const idOf = ({ name }: Feature): string => name.toLowerCase().replaceAll(' ', '-');

function article(endpoint: Endpoint, terms: string): Html {
  const { method, path, summary, description, permission, auth, params, reply } = endpoint;
  const who =
    auth === 'none' ? 'Anybody, without signing in.' : permission === undefined ? undefined : `For ${permission}.`;
  return html`<article class="card" id="${anchorOf(endpoint)}" data-terms="${terms}">
<h3><span class="method">${method}</span><code class="path">${breakable(path)}</code></h3>
<p>${summary}. ${prose(description ?? '')} ${who}</p>
${twinList(endpoint)}
${Object.keys(params).length === 0 ? html`<p class="soft">No parameters.</p>` : parameters(endpoint)}
${replyList(reply)}
${refusal(endpoint)}
${snippet(printedCall(endpoint), `A call of ${nameOf(endpoint)}`)}
${example(endpoint)}
</article>
`;
}

/** What does the same in GraphQL. */
const twinList = ({ twins }: Endpoint): Html =>
  html`<p class="soft">GraphQL: ${twins.map((twin, i) => html`${i === 0 ? '' : ', '}<code>${twin}</code>`)}</p>`;

/** Our choice: more than these would hide what stands below them. */
const MAX_SHOWN = 12;

function parameters(endpoint: Endpoint): Html {
  const names = Object.keys(endpoint.params);
  const list = parameterList(endpoint);
  return names.length <= MAX_SHOWN
    ? list
    : html`<details><summary>${names.length} parameters</summary>${list}</details>`;
}

function parameterList({ params }: Endpoint): Html {
  return html`<dl>${Object.entries(params).map(
    ([name, param]) => html`<dt><code>${name}</code> <span class="tag">${noteOf(param)}</span></dt>
<dd>${prose(param.description)}</dd>`,
  )}</dl>`;
}

function noteOf(param: Param): string {
  if (isFile(param)) return `file, multipart, ${param.presence}`;
  const { encoding, type, presence, fallback, alias } = param;
  const written = encoding === 'json' ? 'JSON' : encoding === 'text' ? 'text' : 'in the path';
  const need = presence === 'defaulted' ? `default ${JSON.stringify(fallback)}` : presence;
  const also = alias === undefined ? '' : `, also as ${alias}`;
  return `${typeName(schemaOf(type, 'input'))}, ${written}, ${need}${also}`;
}

function replyList(reply: Endpoint['reply']): Html | undefined {
  const fields = Object.entries(reply);
  if (fields.length === 0) return undefined;
  const list = html`<p>Answers with ${fields.map(
    ([name, type], i) =>
      html`${i === 0 ? '' : ', '}<code>${name}</code> <span class="tag">(${typeName(schemaOf(type, 'output'))})</span>`,
  )}.</p>`;
  return fields.length <= MAX_SHOWN
    ? list
    : html`<details><summary>${fields.length} fields of the answer</summary>${list}</details>`;
}

function refusal(endpoint: Endpoint): Html | undefined {
  const { refused } = demoCallOf(endpoint);
  if (refused === undefined) return undefined;
  const { needs, code } = refused;
  return html`<p>Where ${prose(needs)} is not set, as on the demo, the call is refused with <code>${code}</code>.</p>`;
}

const REPLIES: Readonly<Record<string, unknown>> = exampleReplies;

/** A reply that an endpoint has given. */
function example(endpoint: Endpoint): Html {
  const reply = REPLIES[nameOf(endpoint)];
  if (reply === undefined) {
    return html`<p class="soft">Answers with status 302, and the address where a browser goes on in <code>Location</code>.</p>`;
  }
  return html`<details><summary>A reply</summary>
<pre class="reply"><code>${JSON.stringify(reply, null, 2)}</code></pre></details>`;
}
