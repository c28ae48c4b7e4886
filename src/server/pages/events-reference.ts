import { type GraphQLField, type GraphQLObjectType, isObjectType } from 'graphql';
import { projectionOptionsOf } from '../../api/graphql/schema/event-projections.ts';
import { eventTypeName } from '../../api/graphql/schema/event-types.ts';
import { type Html, html, page, prose } from '../../api/html.ts';
import { schemaOf } from '../../api/rest/openapi.ts';
import { type DocumentedEvent, documentedEvents } from '../../events/wire.ts';
import { buildSchema } from '../registries/schema.ts';
import exampleEvents from './example-events.json' with { type: 'json' };
import { SEARCH_SCRIPT, searchField, searchTerms } from './search.ts';
import { typeName } from './type-name.ts';

/** Returns the page /docs/events: all event types, generated from their descriptions and the GraphQL schema. */
export function eventsReference(): string {
  const types = buildSchema().getTypeMap();
  const graphqlOf = ({ type, op }: DocumentedEvent): GraphQLObjectType | undefined => {
    const found = types[eventTypeName(type, op) ?? ''];
    return isObjectType(found) ? found : undefined;
  };
  const groups = Map.groupBy(
    documentedEvents().toSorted((a, b) => nameOf(a).localeCompare(nameOf(b), 'en')),
    ({ type }) => type,
  );
  return page(
    'Events',
    html`<header class="top">
<p><a href="/">Team chat service</a> · <a href="/developers">For developers</a> · <a href="/docs">REST reference</a></p>
<h1>Events</h1>
<p class="lead">Every change is an event in one ordered log. All transports give it the same number: <code>id</code> over
REST, <code>position</code> in GraphQL.</p>
</header>
<main>
<h2 id="rules">Rules for all events</h2>
<div class="card">
<p>An event contains full new values, so applying it twice is harmless. Its values are those at the time of the change, also
in a replay. Its recipients are determined at that time. A queue is registered with the types that it receives:
<code>event_types</code> over REST, <code>eventTypes</code> in GraphQL, in capital letters.</p>
<p>Over REST, an event is JSON with <code>id</code>, <code>type</code>, usually <code>op</code>, and the fields listed here.
In GraphQL, each event has its own type. Fields of an entity that the event contains are sent without reading the database.
Other fields are read when the event is sent.</p>
</div>
<h2 id="types">Types</h2>
${searchField('Search events', 'Type, field or word')}
<nav aria-label="Types" class="features">${[...groups].map(([type, events]) => index(type, events))}</nav>
${[...groups.values()].map(
  (events) => html`<section data-group>${events.map((event) => article(event, graphqlOf(event)))}</section>
`,
)}
</main>
<footer></footer>`,
    SEARCH_SCRIPT,
  );
}

const nameOf = ({ type, op }: Pick<DocumentedEvent, 'type' | 'op'>): string =>
  op === undefined ? type : `${type}/${op}`;
const anchorOf = (event: DocumentedEvent): string => nameOf(event).replace('/', '-');

const termsOf = (event: DocumentedEvent, fields: readonly string[] = []): string =>
  searchTerms([nameOf(event), eventTypeName(event.type, event.op) ?? '', event.recipients, ...fields]);

const index = (type: string, events: readonly DocumentedEvent[]): Html => html`<details class="feature" data-group>
<summary>${type}</summary>
<ul class="index">${events.map(
  (event) => html`<li data-terms="${termsOf(event)}"><a href="#${anchorOf(event)}">${nameOf(event)}</a></li>
`,
)}</ul>
</details>
`;

function article(event: DocumentedEvent, graphql: GraphQLObjectType | undefined): Html {
  const fields = Object.entries(schemaOf(event.wire, 'output').properties ?? {});
  const required = new Set(schemaOf(event.wire, 'output').required);
  const example = EXAMPLES[nameOf(event)];
  return html`<article class="card" id="${anchorOf(event)}" data-terms="${termsOf(
    event,
    fields.map(([name]) => name),
  )}">
<h3><code class="path">${nameOf(event)}</code></h3>
<p>${graphql?.description ?? ''} Recipients: ${prose(event.recipients)}.</p>
<h4>REST</h4>
<dl>${fields.map(
    ([
      name,
      schema,
    ]) => html`<dt><code>${name}</code> <span class="tag">${typeName(schema)}${required.has(name) ? '' : ', optional'}</span></dt>
${schema['description'] === undefined ? undefined : html`<dd>${prose(String(schema['description']))}</dd>`}`,
  )}</dl>
${example === undefined ? undefined : html`<details><summary>Example</summary><pre class="reply"><code>${JSON.stringify(example, null, 2)}</code></pre></details>`}
${graphql === undefined ? html`<p class="soft">GraphQL uses other events for this change.</p>` : graphqlPart(graphql)}
</article>
`;
}

const EXAMPLES: Readonly<Record<string, unknown>> = exampleEvents;

/** Names of the GraphQL fields that every event has. The page does not repeat them. */
const COMMON = new Set(['position', 'type']);

function graphqlPart(type: GraphQLObjectType): Html {
  const fields = Object.values(type.getFields()).filter(({ name }) => !COMMON.has(name));
  return html`<h4>GraphQL: <code>${type.name}</code></h4>
${fields.length === 0 ? html`<p class="soft">No fields except position and type.</p>` : html`<dl>${fields.map(field)}</dl>`}`;
}

const field = ({
  name,
  type,
  description,
  extensions,
}: GraphQLField<unknown, unknown>): Html => html`<dt><code>${name}</code> <span class="tag">${String(type)}${
  projectionOptionsOf(extensions) === undefined ? '' : ', entity'
}</span></dt>
<dd>${prose(description ?? '')}</dd>`;
