import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App, RequestCtx } from '../../access/context.ts';
import type { Browser } from '../../api/cookies.ts';
import { refused, requestOf, respond, shown } from '../../api/form-page.ts';
import { html, snippet } from '../../api/html.ts';
import { countAddress } from '../../api/rate-limits.ts';
import { readForm } from '../../api/rest/form.ts';
import type { Web } from '../../api/rest/router.ts';
import { headersOf } from '../../api/sessions.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { LOGOUT_PATH, PROVIDER_PATH } from '../identity-providers.ts';
import { completeOnDesktop, DESKTOP_PATH } from './app-sign-in.ts';
import { SignInFailure } from './failure.ts';
import { beginSignIn, type Completed, completeSignIn } from './flow.ts';
import { endSessionsByProvider, signOutUrl } from './sign-out.ts';

const TITLE = 'Sign in';
const REFUSED = 'You are not signed in';

interface Visit {
  readonly request: RequestCtx;
  readonly browser: Browser;
  readonly query: URLSearchParams;
}

/** Adds the URLs at which people begin and complete a sign-in through a provider. */
export function addSingleSignOn(web: Web, app: App): void {
  const visit = (incoming: IncomingMessage, outgoing: ServerResponse, act: (visit: Visit) => Promise<Response>) =>
    shown(TITLE, REFUSED, async () => {
      const request = await requestOf(app, incoming);
      const query = new URLSearchParams((incoming.url ?? '').split('?').slice(1).join('?'));
      try {
        return await act({ request, browser: browserOf(incoming, outgoing), query });
      } catch (thrown) {
        if (!(thrown instanceof SignInFailure)) throw thrown;
        return refused(TITLE, REFUSED, thrown);
      }
    });
  web.get(`${PROVIDER_PATH}:provider`, ({ req, env: { incoming, outgoing } }) =>
    visit(incoming, outgoing as ServerResponse, async ({ request, browser, query }) =>
      redirect(await beginSignIn(request, req.param('provider'), query, browser)),
    ),
  );
  web.get(`${PROVIDER_PATH}:provider/callback`, ({ req, env: { incoming, outgoing } }) =>
    visit(incoming, outgoing as ServerResponse, async ({ request, browser, query }) =>
      responseOf(await completeSignIn(request, req.param('provider'), query, browser)),
    ),
  );
  web.get(`${LOGOUT_PATH}:provider`, ({ req, env: { incoming, outgoing } }) =>
    visit(incoming, outgoing as ServerResponse, async ({ request }) =>
      redirect(await signOutUrl(request, req.param('provider'))),
    ),
  );
  web.post(`${LOGOUT_PATH}:provider/back-channel`, async ({ req, env: { incoming } }) => {
    try {
      const { fields } = await readForm(incoming, false);
      const request = await requestOf(app, incoming);
      await countAddress(app, incoming);
      await endSessionsByProvider(request, req.param('provider'), fields.get('logout_token') ?? '');
      return new Response(null, { status: 200, headers: NOT_STORED });
    } catch (thrown) {
      return toProvider(thrown);
    }
  });
  web.get(`${DESKTOP_PATH}:token`, ({ req, env: { incoming, outgoing } }) =>
    visit(incoming, outgoing as ServerResponse, async ({ request, browser }) => {
      // Desktop clients open this address themselves. A link in a page of any site must not sign its reader in as another user.
      const from = incoming.headers['sec-fetch-site'];
      if (from !== undefined && from !== 'none') {
        throw new SignInFailure('Open this address in the app in which the sign-in was begun.', { status: 403 });
      }
      await completeOnDesktop(request, req.param('token'), browser);
      return redirect('/');
    }),
  );
}

/**
 * Returns the browser of a request, without the header `Sec-Fetch-Site`. The provider redirects the browser here, so the header
 * names another site. The request nevertheless opens a page of this site, which may use the session.
 */
function browserOf({ headers }: IncomingMessage, outgoing: ServerResponse): Browser {
  const header = headersOf(headers);
  return {
    header: (name) => (name === 'sec-fetch-site' ? undefined : header(name)),
    setCookie: (cookie) => void outgoing.appendHeader('set-cookie', cookie),
  };
}

const NOT_STORED = { 'Cache-Control': 'no-store' };

/** Returns the response to a provider whose request was refused. @throws The error if it is not expected. */
function toProvider(thrown: unknown): Response {
  const error = thrown instanceof SignInFailure ? thrown : expectedError(thrown);
  if (error === undefined) throw thrown;
  const body = { error: 'invalid_request', error_description: error.message };
  return Response.json(body, { status: error.status, headers: NOT_STORED });
}

const redirect = (url: string) =>
  new Response(null, {
    status: 303,
    headers: { Location: url, 'Cache-Control': 'private, no-store', 'Referrer-Policy': 'no-referrer' },
  });

function responseOf(completed: Completed): Response {
  if (completed.kind === 'redirect') return redirect(completed.url);
  return respond(
    TITLE,
    200,
    html`<h1>Continue in the app</h1>
<p>Copy this code, and paste it into the app within one minute.</p>
${snippet(completed.code, 'Code for the app')}`,
  );
}
