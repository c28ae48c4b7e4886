import { type Html, html, page, prose, shellWord, snippet } from '../../api/html.ts';
import { type Endpoint, slotsOf } from '../../api/rest/endpoint.ts';
import { fieldsOf, type Schema, schemaOf } from '../../api/rest/openapi.ts';
import { isFile, type Param } from '../../api/rest/params.ts';
import { API_PREFIX } from '../../api/rest/router.ts';
import type { DemoOwner } from '../demo/demo-access.ts';

/**
 * Makes the REST reference: pieces to be sent one after the other. All but the address and the sign-in is the same bytes
 * for everybody: whoever reads nothing of it, under whatever name they ask for it, has no copy of their own.
 */
export function referenceOf(routes: readonly Endpoint[]): (origin: string, owner: DemoOwner | null) => Buffer[] {
  const [before = '', after = ''] = referencePage(routes, VARIABLES).split(VARIABLES);
  const [first, last] = [Buffer.from(before), Buffer.from(after)];
  return (origin, owner) => [first, Buffer.from(html`${variables(origin, owner)}`.toString()), last];
}

/** Where the variables go, once. No text of the page holds it. */
const VARIABLES = '\0';

function referencePage(routes: readonly Endpoint[], variables: string): string {
  const index = html`<ul class="index">${routes.map(
    (endpoint) =>
      html`<li><a href="#${anchorOf(endpoint)}"><span class="method">${endpoint.method}</span>${breakable(endpoint.path)}</a></li>\n`,
  )}</ul>`;
  const articles = routes.map(article);
  return page(
    'REST reference',
    html`<header class="top">
<p><a href="/">Team chat service</a></p>
<h1>REST reference</h1>
<p class="lead">Made from the table of endpoints that the server itself uses. For programs: <a href="/api/v1/openapi.json">OpenAPI 3.1</a>.</p>
</header>
<main>
<h2 id="rules">The rules of every endpoint</h2>
<div class="card">
${RULES}
<p>The calls on this page take three variables from your shell:</p>
${snippet(variables, 'Set the variables the calls use')}
</div>
<h2 id="endpoints">Endpoints</h2>
${index}
${articles}
</main>
<footer></footer>`,
  );
}

const RULES = html`<p>Paths are below <code>${API_PREFIX}</code>. Sign in with HTTP Basic: API email and API key.</p>
<p>Parameters are form fields: in the query string, or in a form-encoded body. Text is sent as it is; booleans, numbers, lists
and objects as JSON text, strictly typed (<code>"5"</code> and <code>5.0</code> are no integers). Names an endpoint does not
know are ignored, and listed in <code>ignored_parameters_unsupported</code> of the answer.</p>
<p>A success is <code>{"result": "success", "msg": "", …}</code> with the fields listed here. A failure is
<code>{"result": "error", "msg": "…", "code": "…"}</code>, with status 400, or a more telling one: 401 for the sign-in, 404 for
what is not there, 405 for the method, 429 for the rate, 503 for "try again". Programs look at <code>code</code>, never at
<code>msg</code>.</p>
<p>GraphQL calls the same functions, with the same permissions, validation and errors: each endpoint names what does the same
there. Its <code>databaseId</code> is the id of REST.</p>`;

function variables(origin: string, owner: DemoOwner | null): string {
  return [
    `URL=${shellWord(origin + API_PREFIX)}`,
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

function article(endpoint: Endpoint): Html {
  const { method, path, summary, description, permission, auth, params, reply } = endpoint;
  const who =
    auth === 'none' ? 'Anybody, without signing in.' : permission === undefined ? undefined : `For ${permission}.`;
  return html`<article class="card" id="${anchorOf(endpoint)}">
<h3><span class="method">${method}</span><code class="path">${path}</code></h3>
<p>${summary}. ${prose(description ?? '')} ${who}</p>
${twinList(endpoint)}
${Object.keys(params).length === 0 ? html`<p class="soft">No parameters.</p>` : parameterList(endpoint)}
${replyList(reply)}
${snippet(call(endpoint), `${summary}: a call`)}
</article>
`;
}

/** What does the same in GraphQL. */
const twinList = ({ twins }: Endpoint): Html =>
  html`<p class="soft">GraphQL: ${twins.map((twin, i) => html`${i === 0 ? '' : ', '}<code>${twin}</code>`)}</p>`;

function parameterList({ params }: Endpoint): Html {
  return html`<dl>${Object.entries(params).map(
    ([name, param]) => html`<dt><code>${name}</code> <span class="tag">${noteOf(param)}</span></dt>
${param.description === undefined ? undefined : html`<dd>${prose(param.description)}</dd>`}`,
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
  return html`<p>Answers with ${fields.map(
    ([name, type], i) =>
      html`${i === 0 ? '' : ', '}<code>${name}</code> <span class="tag">(${typeName(schemaOf(type, 'output'))})</span>`,
  )}.</p>`;
}

/** A schema in a few words: `list of integer`, `"a" | "b"`, `{to: list of integer, topic: string}`. */
function typeName(schema: Schema): string {
  const members = schema.anyOf ?? schema.oneOf;
  if (members !== undefined) return members.map(typeName).join(' | ');
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.prefixItems !== undefined) return `[${schema.prefixItems.map(typeName).join(', ')}]`;
  if (schema.type === 'array') return typeof schema.items === 'object' ? `list of ${typeName(schema.items)}` : 'list';
  if (schema.properties !== undefined) {
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties);
    return `{${fields.map(([name, inner]) => `${name}${required.has(name) ? '' : '?'}: ${typeName(inner)}`).join(', ')}}`;
  }
  return [schema.type ?? 'any'].flat().join(' | ');
}

/** A call that runs, but for the ids in it. */
function call(endpoint: Endpoint): string {
  const { method, path, params, auth } = endpoint;
  const slots = slotsOf(path);
  const filled = slots.reduce((url, name) => url.replace(`{${name}}`, encodeURIComponent(sample(params[name]))), path);
  const fields = fieldsOf(endpoint);
  const required = fields.filter(([, { presence }]) => presence === 'required');
  // A write that says nothing is refused: show one of what it may say.
  const shown = required.length > 0 || method === 'GET' ? required : fields.slice(0, 1);
  const withMethod = method === 'GET' ? (shown.length > 0 ? '-G ' : '') : `-X ${method} `;
  const signIn = auth === 'none' ? '' : '-u "$EMAIL:$KEY" ';
  const isMultipart = shown.some(([, param]) => isFile(param));
  const data = shown.map(([name, param]) => ` \\\n  ${isMultipart ? '-F' : '--data-urlencode'} ${field(name, param)}`);
  return `curl ${withMethod}${signIn}"$URL${filled}"${data.join('')}`;
}

const field = (name: string, param: Param) =>
  shellWord(isFile(param) ? `${name}=@picture.png` : `${name}=${sample(param)}`);

/** A value to show, as it is sent. */
function sample(param: Param | undefined): string {
  if (param === undefined) return '';
  if (param.example !== undefined) return param.example;
  const value = sampleOf(schemaOf(param.type, 'input'));
  return param.encoding === 'json' ? JSON.stringify(value) : String(value);
}

function sampleOf(schema: Schema): unknown {
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first !== undefined) return sampleOf(first);
  if (schema.enum !== undefined) return schema.enum[0];
  if ('const' in schema) return schema.const;
  if (schema.prefixItems !== undefined) return schema.prefixItems.map(sampleOf);
  switch ([schema.type].flat()[0]) {
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'array':
      return typeof schema.items === 'object' ? [sampleOf(schema.items)] : [];
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]),
      );
    case 'null':
      return null;
    default:
      return 'text';
  }
}
