import type { App } from '../../access/context.ts';
import { readSentForm, respond, shown } from '../../api/form-page.ts';
import { html } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import { CONFIRMATION_PATH, confirmEmailChange } from './service.ts';

const TITLE = 'Your email address';

/**
 * Adds the page to which the link in a confirmation email leads. Opening the page changes nothing, because mail servers open
 * links to check them. The page's button confirms the email address.
 */
export function addEmailPages(web: Web, app: App): void {
  web.get(CONFIRMATION_PATH, ({ req }) => question(req.query('token') ?? ''));
  web.post(CONFIRMATION_PATH, ({ env: { incoming } }) =>
    shown(TITLE, 'Email address not changed', async () => {
      const { request, fields } = await readSentForm(app, incoming);
      const { email } = await confirmEmailChange(request, fields.get('token') ?? '');
      return respond(TITLE, 200, html`<h1>Email address changed</h1><p>Your email address is now ${email}.</p>`);
    }),
  );
}

const question = (token: string): Response =>
  respond(
    TITLE,
    200,
    html`<h1>Confirm your new email address</h1>
<form method="post" action="${CONFIRMATION_PATH}">
<input type="hidden" name="token" value="${token}">
<p>The link that you followed was sent to this address.</p>
<p><button type="submit">Use this address</button></p>
</form>`,
  );
