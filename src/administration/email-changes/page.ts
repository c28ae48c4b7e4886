import type { App } from '../../access/context.ts';
import { anonymous } from '../../access/sign-in.ts';
import { type Html, html, page, pageHeaders } from '../../api/html.ts';
import { readForm } from '../../api/rest/form.ts';
import type { Web } from '../../api/rest/router.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { CONFIRMATION_PATH, confirmEmailChange } from './service.ts';

/**
 * Adds the page to which the link in a confirmation email leads. Opening the page changes nothing, because mail servers open
 * links to check them. The page's button confirms the email address.
 */
export function addEmailPages(web: Web, app: App): void {
  web.get(CONFIRMATION_PATH, ({ req }) => answer(200, question(req.query('token') ?? '')));
  web.post(CONFIRMATION_PATH, async ({ env: { incoming } }) => {
    try {
      const { fields } = await readForm(incoming, false);
      const { host, 'user-agent': userAgent } = incoming.headers;
      const { email } = await confirmEmailChange(await anonymous(app, { host, userAgent }), fields.get('token') ?? '');
      return answer(200, html`<h1>Email address changed</h1><p>Your email address is now ${email}.</p>`);
    } catch (thrown) {
      const error = expectedError(thrown);
      if (error === undefined) throw thrown;
      return answer(error.status, html`<h1>Email address not changed</h1><p>${error.message}</p>`);
    }
  });
}

const question = (token: string) => html`<h1>Confirm your new email address</h1>
<form method="post" action="${CONFIRMATION_PATH}">
<input type="hidden" name="token" value="${token}">
<p>The link that you followed was sent to this address.</p>
<p><button type="submit">Use this address</button></p>
</form>`;

function answer(status: number, content: Html): Response {
  const body = page('Your email address', html`<main><div class="card">${content}</div></main>`);
  return new Response(body, { status, headers: pageHeaders({ hasForm: true, hasSecret: true }) });
}
