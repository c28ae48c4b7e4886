import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import type { DemoAccess } from '../demo/demo-access.ts';

interface Tab {
  readonly query: string;
  readonly variables?: string;
  readonly headers?: string;
}

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

const VIEWER = `# Who is signed in. Ctrl-Enter runs it.
query Viewer {
  viewer {
    databaseId
    fullName
    email
    role
  }
}
`;

const CHANNELS = `query Channels($first: Int!) {
  channels(first: $first) {
    edges {
      node {
        id
        databaseId
        name
        description
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`;

const CREATE_DRAFTS = `# Run it while the last tab listens: it arrives there, too.
mutation CreateDrafts($input: CreateDraftsInput!) {
  createDrafts(input: $input) {
    __typename
    ... on CreateDraftsPayload {
      drafts {
        databaseId
        content
        lastEditedAt
      }
    }
    ... on ServiceError {
      code
      message
    }
  }
}
`;

const LIVE = `# What happens, as it happens. Stop, run again later:
# the queue keeps its place, and nothing is missing.
subscription Live($queueId: String!) {
  events(queueId: $queueId) {
    __typename
    position
    type
    ... on DraftsAddedEvent {
      drafts {
        databaseId
        content
      }
    }
    ... on DraftRemovedEvent {
      draftId
    }
  }
}
`;

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

function tabs(queueId: string, headers: string | undefined): Tab[] {
  const draft = { type: 'UNADDRESSED', content: 'Written in GraphiQL.' };
  return [
    { query: VIEWER },
    { query: CHANNELS, variables: pretty({ first: 10 }) },
    { query: CREATE_DRAFTS, variables: pretty({ input: { drafts: [draft] } }) },
    { query: LIVE, variables: pretty({ queueId }) },
  ].map((tab) => ({ ...tab, ...(headers !== undefined && { headers }) }));
}

/**
 * Makes the page browsers get at /graphql: GraphiQL, whole, with nothing fetched from anywhere.
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
      const options = demo?.access.isOpenTo(request) === true ? await signedIn(demo) : SIGNED_OUT;
      await sendPage(response, options);
    } catch (error) {
      app.log.error({ err: error }, 'GraphiQL cannot be shown');
      response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('GraphiQL cannot be shown just now; please reload\n');
    }
  };
}

const SIGNED_OUT: Options = { defaultTabs: tabs('the queueId of a registerEventQueue mutation', undefined) };

async function signedIn({ access: { owner }, registerQueue }: Demo): Promise<Options> {
  const credentials = Buffer.from(`${owner.email}:${owner.apiKey}`).toString('base64');
  const headers = pretty({ authorization: `Basic ${credentials}` });
  return { defaultTabs: tabs(await registerQueue(), headers), headers, storage: null };
}

async function sendPage(response: ServerResponse, options: Options): Promise<void> {
  const { head, body } = await page();
  const nonce = randomBytes(16).toString('base64');
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy(nonce),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  });
  response.write(head);
  response.write(`<script nonce="${nonce}">`);
  response.write(body);
  response.end(startScript(options));
}

/** Only what stands in the page itself runs or shows, and only this server is asked. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    // The editor's workers, which the page makes from its own text.
    'worker-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

let assembled: Promise<{ head: Buffer; body: Buffer }> | undefined;

/** GraphiQL's nine megabytes, which are the same for everyone, up to its script tag and after it. */
function page(): Promise<{ head: Buffer; body: Buffer }> {
  assembled ??= assemble().catch((error: unknown) => {
    assembled = undefined;
    throw error;
  });
  return assembled;
}

async function assemble(): Promise<{ head: Buffer; body: Buffer }> {
  // Loaded with the first visit: most services never show it.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({ title: 'GraphiQL' });
  const [tag, start] = ['<script>', 'YogaGraphiQL.renderYogaGraphiQL('];
  const opening = html.indexOf(tag, html.indexOf('<div id="root"></div>'));
  const ending = html.lastIndexOf(start);
  if (opening === -1 || ending < opening) throw new Error('GraphiQL has another form than it had');
  return {
    head: Buffer.from(html.slice(0, opening)),
    body: Buffer.from(html.slice(opening + tag.length, ending)),
  };
}

/**
 * GraphiQL's drag and drop believes that tabs given from the start stand elsewhere, and moves a tab there when it is
 * pressed: the click would go astray.
 */
const TABS_STAY = '.graphiql-tab { transform: none !important }';

/**
 * Starts GraphiQL. Its own WebSocket client never sends the headers of a tab, so `connectionParams` hands it the open
 * tab's authorization for `connection_init`. That client gives up at a connection's error, and tries again after its
 * closing: a refused connection has both, so the error is kept from it. Else the first attempt while the service starts
 * again would be the last.
 */
function startScript(options: Options): string {
  const json = JSON.stringify({ ...options, subscriptionsProtocol: 'WS' }).replaceAll('<', '\\u003c');
  return `
        Object.defineProperty(WebSocket.prototype, 'onerror', { set() {} });
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
          onTabChange: ({ tabs, activeTabIndex }) => {
            headers = tabs[activeTabIndex]?.headers;
          },
          // Otherwise the address would be rewritten with every key, and override the tabs at the next visit.
          onEditQuery: () => {},
        });
      </script>
      <style>${TABS_STAY}</style>
    </body>
  </html>
`;
}
