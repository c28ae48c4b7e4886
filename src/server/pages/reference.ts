import { type Html, html, page, prose, shellWord, snippet } from '../../api/html.ts';
import { type Endpoint, scopesOf } from '../../api/rest/endpoint.ts';
import { schemaOf } from '../../api/rest/openapi.ts';
import { isFile, type Param } from '../../api/rest/params.ts';
import { API_PREFIX } from '../../api/rest/router.ts';
import type { DemoOwner } from '../demo/demo-access.ts';
import { endpointsOf, type Section } from '../registries/features.ts';
import { demoCallOf, nameOf, printedCall } from './calls/all.ts';
import exampleReplies from './example-replies.json' with { type: 'json' };
import { SEARCH_SCRIPT, searchField, searchTerms } from './search.ts';
import { typeName } from './type-name.ts';

/**
 * Returns a function that returns the REST reference in three chunks. The first and the last chunk are shared by all responses.
 * The second chunk contains the service's origin and the credentials. A slow client therefore makes the server keep only a
 * second chunk in memory, not a copy of the page.
 */
export function referenceOf(sections: readonly Section[]): (origin: string, owner: DemoOwner | null) => Buffer[] {
  const [before = '', after = ''] = referencePage(sections, VARIABLES).split(VARIABLES);
  const [first, last] = [Buffer.from(before), Buffer.from(after)];
  return (origin, owner) => [first, Buffer.from(html`${variables(origin, owner)}`.toString()), last];
}

/** Placeholder at which the page is split. It occurs once, in place of the assignments of the shell variables. */
const VARIABLES = '\0';

function referencePage(sections: readonly Section[], variables: string): string {
  return page(
    'REST reference',
    html`<header class="top">
<p><a href="/">Team chat service</a> · <a href="/developers">For developers</a> · <a href="/docs/events">Events</a></p>
<h1>REST reference</h1>
<p class="lead">Generated from the table of endpoints that the server itself uses. For programs:
<a href="/api/v1/openapi.json">OpenAPI 3.1</a>.</p>
</header>
<main>
<h2 id="rules">Rules for all endpoints</h2>
<div class="card">
${RULES}
<p>The calls on this page use three shell variables. In a new demo organization, each call runs unchanged in bash and zsh:</p>
${snippet(variables, 'Set the variables of the calls')}
</div>
<h2 id="endpoints">Endpoints</h2>
${searchField('Search endpoints', 'Path, parameter or word')}
<nav aria-label="Features" class="features">${sections.map(index)}</nav>
${sections.map(chapter)}
</main>
<footer></footer>`,
    SEARCH_SCRIPT,
  );
}

const RULES = html`<p>Paths are relative to <code>${API_PREFIX}</code>. Authenticate with HTTP Basic: API email and API key.</p>
<p>Parameters are form fields, in the query string or in a form-encoded body. Text is sent as it is. Booleans, numbers, lists
and objects are JSON text with strict types (<code>"5"</code> and <code>5.0</code> are not integers). Unknown parameters are
ignored, and listed in <code>ignored_parameters_unsupported</code> of the reply.</p>
<p>A success is <code>{"result": "success", "msg": "", …}</code> with the fields listed here. A failure is
<code>{"result": "error", "msg": "…", "code": "…"}</code>, with status 400, or a more specific one: 401 not authenticated,
404 not found, 405 method not allowed, 429 rate limit exceeded, 503 temporarily unavailable (retry), 507 disk full (retry
later). Programs must evaluate <code>code</code>, never
<code>msg</code>.</p>
<p>GraphQL calls the same functions, with the same permissions, validation and errors. Each endpoint lists its equivalents in
GraphQL, where <code>databaseId</code> is the id of REST.</p>`;

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

/** Returns a path as HTML in which a line can break before each segment. */
const breakable = (path: string): Html =>
  html`${path
    .split('/')
    .slice(1)
    .map((segment) => html`<wbr>/${segment}`)}`;

/** Returns the words by which the search of the page finds an endpoint, including the name of its section. */
const termsOf = ({ method, path, summary, equivalents, params }: Endpoint, section: Section): string =>
  searchTerms([section.name, method, path, summary, ...equivalents, ...Object.keys(params)]);

const index = (section: Section): Html => html`<details class="feature" data-group>
<summary>${section.name}</summary>
<ul class="index">${endpointsOf(section).map(
  (endpoint) =>
    html`<li data-terms="${termsOf(endpoint, section)}"><a href="#${anchorOf(endpoint)}"><span class="method">${endpoint.method}</span>${breakable(endpoint.path)}</a></li>
`,
)}</ul>
</details>
`;

const chapter = (section: Section): Html => html`<section data-group>
<h2 id="${idOf(section)}">${section.name}</h2>
${section.about === undefined ? undefined : html`<p class="soft">${section.about}</p>`}
${endpointsOf(section).map((endpoint) => article(endpoint, termsOf(endpoint, section)))}
</section>
`;

const idOf = ({ name }: Section): string => name.toLowerCase().replaceAll(' ', '-');

function article(endpoint: Endpoint, terms: string): Html {
  const { method, path, summary, description, permission, auth, params, reply } = endpoint;
  const who =
    auth === 'none' ? 'No authentication required.' : permission === undefined ? undefined : `For ${permission}.`;
  return html`<article class="card" id="${anchorOf(endpoint)}" data-terms="${terms}">
<h3><span class="method">${method}</span><code class="path">${breakable(path)}</code></h3>
<p>${summary}. ${prose(description ?? '')} ${who}</p>
${scopeList(endpoint)}
${equivalentList(endpoint)}
${Object.keys(params).length === 0 ? html`<p class="soft">No parameters.</p>` : parameters(endpoint)}
${replyList(reply)}
${refusal(endpoint)}
${snippet(printedCall(endpoint), `Example call of ${nameOf(endpoint)}`)}
${example(endpoint)}
</article>
`;
}

/** Returns the GraphQL equivalents of an endpoint as HTML. */
const equivalentList = ({ equivalents }: Endpoint): Html =>
  html`<p class="soft">GraphQL: ${equivalents.map((equivalent, i) => html`${i === 0 ? '' : ', '}<code>${equivalent}</code>`)}</p>`;

/** Returns the scopes that an API key needs for an endpoint, as HTML. */
function scopeList(endpoint: Endpoint): Html | undefined {
  const scopes = scopesOf(endpoint);
  if (scopes.length === 0) return undefined;
  return html`<p class="soft">Scopes of the API key: ${scopes.map((scope, i) => html`${i === 0 ? '' : ', '}<code>${scope}</code>`)}</p>`;
}

/** Number of entries above which a list is collapsed. A longer list would hide the content below it. */
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
  const list = html`<p>Reply: ${fields.map(
    ([name, type], i) =>
      html`${i === 0 ? '' : ', '}<code>${name}</code> <span class="tag">(${typeName(schemaOf(type, 'output'))})</span>`,
  )}.</p>`;
  return fields.length <= MAX_SHOWN
    ? list
    : html`<details><summary>${fields.length} reply fields</summary>${list}</details>`;
}

function refusal(endpoint: Endpoint): Html | undefined {
  const { refused } = demoCallOf(endpoint);
  if (refused === undefined) return undefined;
  const { needs, code } = refused;
  return html`<p>Requires ${prose(needs)}. Without it, as in the demo, the call fails with <code>${code}</code>.</p>`;
}

const REPLIES: Readonly<Record<string, unknown>> = exampleReplies;

/** Returns the recorded example response of an endpoint as HTML. */
function example(endpoint: Endpoint): Html {
  const reply = REPLIES[nameOf(endpoint)];
  if (reply === undefined) {
    return html`<p class="soft">Replies with status 302, and the address of the redirect in <code>Location</code>.</p>`;
  }
  return html`<details><summary>Example reply</summary>
<pre class="reply"><code>${JSON.stringify(reply, null, 2)}</code></pre></details>`;
}
