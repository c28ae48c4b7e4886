import type { App } from '../../access/context.ts';
import { orForm, passwordFields, passwordIn, readSentForm, refusalIn, respond, shown } from '../../api/form-page.ts';
import { html } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import type { ChatError } from '../../platform/errors.ts';
import { RESET_PATH, resetPassword } from './service.ts';

const TITLE = 'New password';

/**
 * Adds the page on which a person chooses a new password. Opening the page changes nothing, because mail servers open links to
 * check them. The form sets the password.
 */
export function addPasswordPage(web: Web, app: App): void {
  web.get(RESET_PATH, ({ req }) => form(req.query('token') ?? ''));
  web.post(RESET_PATH, ({ env: { incoming } }) =>
    shown(TITLE, 'Password not changed', async () => {
      const { request, fields } = await readSentForm(app, incoming);
      const token = fields.get('token') ?? '';
      return orForm(
        async () => {
          await resetPassword(request, { token, newPassword: passwordIn(fields) });
          return respond(
            TITLE,
            200,
            html`<h1>Password changed</h1>
<p>All your browsers are signed out.</p>
<p><a href="/">Sign in</a></p>`,
          );
        },
        (error) => form(token, error),
      );
    }),
  );
}

const form = (token: string, error?: ChatError): Response =>
  respond(
    TITLE,
    error?.status ?? 200,
    html`<h1>Choose a new password</h1>
${refusalIn(error)}
<form method="post" action="${RESET_PATH}">
<input type="hidden" name="token" value="${token}">
<div class="fields">
${passwordFields('New password')}
<button type="submit">Change password</button>
</div>
</form>`,
  );
