import type { App } from '../../access/context.ts';
import { MIN_PASSWORD_LENGTH } from '../../access/passwords.ts';
import { anonymous } from '../../access/sign-in.ts';
import { requireOwnPage } from '../../api/cross-site.ts';
import { type Html, html, page, pageHeaders } from '../../api/html.ts';
import { readForm } from '../../api/rest/form.ts';
import type { Web } from '../../api/rest/router.ts';
import { headersOf } from '../../api/sessions.ts';
import { Caller } from '../../platform/caller.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { ValidationError } from '../../platform/errors.ts';
import { RESET_PATH, resetPassword } from './service.ts';

/** Adds the page on which a person chooses a new password. Opening the page changes nothing: its form does. */
export function addPasswordPage(web: Web, app: App): void {
  web.get(RESET_PATH, ({ req }) => respond(200, form(req.query('token') ?? '')));
  web.post(RESET_PATH, async ({ env: { incoming } }) => {
    let token = '';
    try {
      requireOwnPage(app.config, headersOf(incoming.headers));
      const { fields } = await readForm(incoming, false);
      token = fields.get('token') ?? '';
      const newPassword = fields.get('password') ?? '';
      if (newPassword !== fields.get('repeated')) throw new ValidationError('The passwords differ.');
      const { host, 'user-agent': userAgent } = incoming.headers;
      const caller = new Caller(incoming, app.config.trustedProxies);
      await resetPassword({ ...(await anonymous(app, { host, userAgent })), caller }, { token, newPassword });
      return respond(
        200,
        html`<h1>Password changed</h1>
<p>All your browsers are signed out.</p>
<p><a href="/">Sign in</a></p>`,
      );
    } catch (thrown) {
      const error = expectedError(thrown);
      if (error === undefined) throw thrown;
      if (error instanceof ValidationError) return respond(error.status, form(token, error.message));
      return respond(
        error.status,
        html`<h1>Password not changed</h1>
<p>${error.message}</p>
<p><a href="/">Sign in, or ask for another link</a></p>`,
      );
    }
  });
}

const form = (token: string, refusal?: string) => html`<h1>Choose a new password</h1>
${refusal === undefined ? undefined : html`<p role="alert"><strong>${refusal}</strong></p>`}
<form method="post" action="${RESET_PATH}">
<input type="hidden" name="token" value="${token}">
<div class="fields">
<label>New password<input name="password" type="password" autocomplete="new-password" minlength="${MIN_PASSWORD_LENGTH}" required></label>
<label>Repeat the password<input name="repeated" type="password" autocomplete="new-password" required></label>
<button type="submit">Change password</button>
</div>
</form>`;

function respond(status: number, content: Html): Response {
  const body = page('New password', html`<main><div class="card">${content}</div></main>`);
  return new Response(body, { status, headers: pageHeaders({ hasForm: true, hasSecret: true }) });
}
