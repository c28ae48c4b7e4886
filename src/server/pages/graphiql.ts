import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import { retryAfterHeader } from '../../api/bare-answer.ts';
import { ICON_LINK, ISOLATION_HEADERS } from '../../api/html.ts';
import { countAddress, setBudgetHeaders } from '../../api/rate-limits.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import type { DemoAccess } from '../demo/demo-access.ts';
import { type GraphiQLFiles, graphiqlFiles, scriptPath, stylePath } from './graphiql-files.ts';
import { graphiqlTabs, type Tab } from './graphiql-tabs.ts';

interface Options {
  readonly defaultTabs: readonly Tab[];
  /** Headers of every new tab, as JSON text. */
  readonly headers?: string;
  /** Storage of GraphiQL. Null if GraphiQL must store nothing in the browser. */
  readonly storage?: null;
}

interface Demo {
  /** Access to the page that contains the API key of the demo owner. */
  readonly access: DemoAccess;
  /** Registers an event queue of the demo owner for one visit to the page, and returns its id. */
  readonly registerQueue: () => Promise<string>;
}

/**
 * Returns the handler for the page at /graphql: GraphiQL, without resources from other hosts.
 *
 * In a browser that opened the start URL, the page is signed in as the demo owner, and its tabs run without changes. GraphiQL
 * then stores nothing in the browser, because keys and queues of an earlier start would not work. In other browsers, the tabs
 * of the page contain no key.
 *
 * @param demo Undefined if the page is never signed in.
 */
export function createGraphiQL(app: App, demo: Demo | undefined) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await countAddress(app, request, (budget) => setBudgetHeaders(response, budget));
      const isLetIn = demo?.access.isOpenTo(request) === true;
      const [options, files] = await Promise.all([isLetIn ? signedIn(demo) : SIGNED_OUT, graphiqlFiles()]);
      // The page is not compressed, because the compressed length would reveal information about the key.
      if (isLetIn) response.setHeader('cache-control', 'private, no-store, no-transform');
      sendPage(response, options, files);
    } catch (error) {
      if (error instanceof RateLimitHitError) {
        const headers = {
          'content-type': 'text/plain; charset=utf-8',
          'retry-after': retryAfterHeader(error.data['retry-after']),
        };
        response.writeHead(error.status, headers).end(`${error.message}\n`);
        return;
      }
      app.log.error({ err: error }, 'graphiql page failed');
      response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('GraphiQL is temporarily unavailable. Reload the page.\n');
    }
  };
}

const SIGNED_OUT: Options = { defaultTabs: graphiqlTabs('the queueId of a registerEventQueue mutation', undefined) };

async function signedIn({ access: { owner }, registerQueue }: Demo): Promise<Options> {
  const credentials = Buffer.from(`${owner.email}:${owner.apiKey}`).toString('base64');
  const headers = JSON.stringify({ authorization: `Basic ${credentials}` }, null, 2);
  return { defaultTabs: graphiqlTabs(await registerQueue(), headers), headers, storage: null };
}

function sendPage(response: ServerResponse, options: Options, files: GraphiQLFiles): void {
  const nonce = randomBytes(16).toString('base64');
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy(nonce),
    ...ISOLATION_HEADERS,
  });
  response.end(pageOf(files, nonce, startScript(options)));
}

const pageOf = (files: GraphiQLFiles, nonce: string, start: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphiQL</title>
${ICON_LINK}
<link rel="stylesheet" href="${stylePath(files)}" nonce="${nonce}">
<style>${STYLE}</style>
</head>
<body class="no-focus-outline">
<noscript>GraphiQL needs JavaScript.</noscript>
<div id="root"></div>
<script nonce="${nonce}" src="${scriptPath(files)}"></script>
<script nonce="${nonce}">${start}</script>
</body>
</html>
`;

/**
 * Returns the content security policy of the page. It allows only resources that this server made for the page, and requests
 * only to this server.
 */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    // The editor runs Web Workers, which the page creates from blob URLs.
    'worker-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/**
 * Styles that correct two properties of GraphiQL. Its drag and drop assumes wrong positions for the initial tabs. It therefore
 * moves such a tab when the user presses it, and the click misses the tab. On a narrow screen, the response is shown below the
 * request instead of beside it.
 */
const STYLE = `
.graphiql-tab { transform: none !important }
@media (max-width: 48rem) {
  .graphiql-container .graphiql-container { flex-direction: column-reverse; }
  .graphiql-container .graphiql-sidebar { flex-direction: row; width: auto; padding: 0 8px; }
  .graphiql-sidebar > button { margin-top: 0 !important; }
  .graphiql-container .graphiql-main { min-height: 0; }
  .graphiql-container .graphiql-sessions { margin: 0; border-radius: 0; min-width: 0; }
  .graphiql-plugin + .graphiql-horizontal-drag-bar, #graphiql-session > .graphiql-horizontal-drag-bar, .graphiql-logo { display: none; }
  #graphiql-session { flex-direction: column; }
  #graphiql-session > .graphiql-response { padding: 8px 0; }
}
`;

/**
 * Returns the script that starts GraphiQL. The script also works around three properties of its WebSocket client:
 *
 * - The client never sends the headers of a tab. `connectionParams` therefore adds the authorization of the open tab to
 *   `connection_init`.
 * - The client stops after the `error` event of a connection, but retries after its `close` event. A refused connection causes
 *   both events. The `error` event is hidden, because otherwise the client would stop at the first attempt while the service
 *   restarts.
 * - The client shows only the last event. Heartbeats are hidden, because they would replace other events.
 */
function startScript(options: Options): string {
  const json = JSON.stringify({ ...options, subscriptionsProtocol: 'WS' }).replaceAll('<', '\\u003c');
  return `
Object.defineProperty(WebSocket.prototype, 'onerror', { set() {} });
const { set } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
Object.defineProperty(WebSocket.prototype, 'onmessage', {
  set(listen) {
    set.call(this, (event) => JSON.parse(event.data).payload?.data?.events?.type === 'HEARTBEAT' || listen(event));
  },
});
const options = ${json};
let headers = options.headers;
const connectionParams = () => {
  try {
    const entries = Object.entries(JSON.parse(headers));
    return Object.fromEntries(
      entries.map(([name, value]) => [name.toLowerCase(), value]).filter(([name]) => name === 'authorization'),
    );
  } catch {
    return {};
  }
};
YogaGraphiQL.renderYogaGraphiQL(window.document.querySelector('#root'), {
  ...options,
  title: 'GraphiQL',
  shouldPersistHeaders: false,
  connectionParams,
  // Shows the variables, not the headers, which contain a key. A narrow screen has no room for either.
  defaultEditorToolsVisibility: matchMedia('(max-width: 48rem)').matches ? false : 'variables',
  onTabChange: ({ tabs, activeTabIndex }) => {
    headers = tabs[activeTabIndex]?.headers;
  },
  // Keeps GraphiQL from writing each edit to the URL, which would replace the tabs at the next visit.
  onEditQuery: () => {},
});
`;
}
