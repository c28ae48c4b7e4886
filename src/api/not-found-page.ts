import type { IncomingHttpHeaders } from 'node:http';
import { html, page, pageHeaders } from './html.ts';
import { fileAnswer, type SharedFile, sharedFile } from './shared-file.ts';

let made: SharedFile | undefined;

/** Returns the 404 page for a browser. The page does not depend on the URL, so it is compressed only once. */
export function notFoundPage(asking: IncomingHttpHeaders): Promise<Response> {
  made ??= sharedFile(notFoundText());
  return fileAnswer(made, asking, pageHeaders(), 404);
}

function notFoundText(): string {
  return page(
    'Page not found',
    html`<header class="top">
<p><a href="/">Team chat service</a></p>
<h1>Page not found</h1>
<p class="lead">There is no page at this address.</p>
</header>
<main>
<ul class="links">
<li><a href="/">Start</a><span>Overview of this service</span></li>
<li><a href="/developers">For developers</a><span>GraphQL, REST and events, with example requests</span></li>
<li><a href="/docs">REST reference</a><span>All endpoints</span></li>
</ul>
</main>
<footer></footer>`,
  );
}
