import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import { APART, ICON_LINK } from '../../api/html.ts';
import type { DemoAccess } from '../demo/demo-access.ts';
import { type GraphiQLFiles, graphiqlFiles, scriptPath, stylePath } from './graphiql-files.ts';
import { graphiqlTabs, type Tab } from './graphiql-tabs.ts';

interface Options {
  readonly defaultTabs: readonly Tab[];
  /** Of every new tab; JSON text. */
  readonly headers?: string;
  /** Null: nothing is kept in the browser. */
  readonly storage?: null;
}

interface Demo {
  /** Which browsers get the page with the demo owner's key. */
  readonly access: DemoAccess;
  /** Registers an event queue of the owner's, for one page. Returns its id. */
  readonly registerQueue: () => Promise<string>;
}

/**
 * Makes the page browsers get at /graphql: GraphiQL, with nothing fetched from another host.
 *
 * For a browser that opened the start address it opens signed in as the demo owner, in tabs that run as they are, and
 * keeps nothing in the browser: keys and queues of an earlier start would not work. Others get the same tabs without a
 * key.
 *
 * @param demo Undefined: nobody opens it signed in.
 */
export function createGraphiQL(app: App, demo: Demo | undefined) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const isLetIn = demo?.access.isOpenTo(request) === true;
      const [options, files] = await Promise.all([isLetIn ? signedIn(demo) : SIGNED_OUT, graphiqlFiles()]);
      // Compressed, its length would tell of the key.
      if (isLetIn) response.setHeader('cache-control', 'private, no-store, no-transform');
      sendPage(response, options, files);
    } catch (error) {
      app.log.error({ err: error }, 'GraphiQL cannot be shown');
      response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('GraphiQL cannot be shown just now; please reload\n');
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
    ...APART,
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

/** Only what this server has made for the page runs or shows, and only this server is asked. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    // The editor's workers, which the page makes from its own text.
    'worker-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/**
 * GraphiQL's drag and drop believes that tabs given from the start stand elsewhere, and moves a tab there when it is
 * pressed: the click would go astray. On a narrow screen what is asked stands above what is answered, and not beside it.
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
 * Starts GraphiQL. Its own WebSocket client never sends the headers of a tab, so `connectionParams` hands it the open
 * tab's authorization for `connection_init`. That client gives up at a connection's error, and tries again after its
 * closing: a refused connection has both, so the error is kept from it. Else the first attempt while the service starts
 * again would be the last. What it shows is the last event, so a heartbeat is kept from it as well.
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
  // Rather the variables than the headers, which hold a key; on a narrow screen there is no room for either.
  defaultEditorToolsVisibility: matchMedia('(max-width: 48rem)').matches ? false : 'variables',
  onTabChange: ({ tabs, activeTabIndex }) => {
    headers = tabs[activeTabIndex]?.headers;
  },
  // Otherwise the address would be rewritten with every key, and override the tabs at the next visit.
  onEditQuery: () => {},
});
`;
}
