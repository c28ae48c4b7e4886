import { html, page, pageHeaders } from './html.ts';

/** What a browser is shown at an address where nothing is. */
export function notFoundPage(path: string): Response {
  const text = page(
    'Nothing here',
    html`<header class="top">
<p><a href="/">Team chat service</a></p>
<h1>There is nothing here</h1>
<p class="lead">No page has the address <code>${path}</code>.</p>
</header>
<main>
<ul class="links">
<li><a href="/">Start</a><span>Where everything begins</span></li>
<li><a href="/developers">For developers</a><span>GraphQL, REST and events, with calls to copy</span></li>
<li><a href="/docs">REST reference</a><span>Every endpoint</span></li>
</ul>
</main>
<footer></footer>`,
  );
  return new Response(text, { status: 404, headers: pageHeaders() });
}
