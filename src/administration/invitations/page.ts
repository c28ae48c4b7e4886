import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App, RequestCtx } from '../../access/context.ts';
import { MIN_PASSWORD_LENGTH } from '../../access/passwords.ts';
import { anonymous } from '../../access/sign-in.ts';
import { retryAfterHeader } from '../../api/bare-answer.ts';
import { type Html, html, page, pageHeaders } from '../../api/html.ts';
import { readForm } from '../../api/rest/form.ts';
import type { Web } from '../../api/rest/router.ts';
import { headersOf } from '../../api/sessions.ts';
import { Caller } from '../../platform/caller.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { type ChatError, ConflictError, ValidationError } from '../../platform/errors.ts';
import { acceptInvitation, findInvitation, type OpenInvitation, requestInvitation } from './joining.ts';
import { JOIN_PATH } from './mail.ts';

/**
 * Adds the page to which an invitation leads. Opening the page changes nothing, because mail servers open links to check them.
 * The page's form creates the account, signs the browser in, and leads to the chat.
 */
export function addInvitationPage(web: Web, app: App): void {
  web.get(`${JOIN_PATH}:token`, async ({ req, env: { incoming } }) => {
    const token = req.param('token');
    return shown(async () => form(token, await open(await requestOf(app, incoming), token)));
  });
  web.post(`${JOIN_PATH}:token`, async ({ req, env: { incoming, outgoing } }) => {
    const token = req.param('token');
    return shown(async () => {
      const { fields } = await readForm(incoming, false);
      const request = await requestOf(app, incoming);
      const found = await open(request, token);
      const [name, email, password] = ['name', 'email', 'password'].map((field) => fields.get(field));
      const entered = { name, email };
      try {
        if (found.needs === 'address') {
          await requestInvitation(request, { token, email: email ?? '' });
          return respond(
            200,
            html`<h1>Check your email</h1>
<p>We sent an email to ${email}. Follow the link in it to join ${found.organization.name}.</p>`,
          );
        }
        if (password !== fields.get('repeated')) throw new ValidationError('The passwords differ.');
        const setCookie = (cookie: string) => void (outgoing as ServerResponse).appendHeader('set-cookie', cookie);
        const browser = { header: headersOf(incoming.headers), setCookie };
        const given = { token, fullName: name ?? '', password: password ?? '', email };
        await acceptInvitation(request, given, browser);
        return new Response(null, { status: 303, headers: { Location: '/', 'Cache-Control': 'private, no-store' } });
      } catch (thrown) {
        const error = expectedError(thrown);
        // Other errors than those of the fields are about the invitation.
        if (!isAboutField(error)) throw thrown;
        return form(token, found, { ...entered, error });
      }
    });
  });
}

/** Returns whether a person can correct the error in the form, such as a name that is in use. */
const isAboutField = (error: ChatError | undefined): error is ValidationError | ConflictError =>
  error instanceof ValidationError ||
  (error instanceof ConflictError && (error.parameter === 'full_name' || error.parameter === 'email'));

async function requestOf(app: App, incoming: IncomingMessage): Promise<RequestCtx> {
  const { host, 'user-agent': userAgent } = incoming.headers;
  return { ...(await anonymous(app, { host, userAgent })), caller: new Caller(incoming, app.config.trustedProxies) };
}

const open = (request: RequestCtx, token: string) => findInvitation(request, request.work.db, token);

/** Returns the page that `show` renders, or a page with the error that it throws. */
async function shown(show: () => Promise<Response>): Promise<Response> {
  try {
    return await show();
  } catch (thrown) {
    const error = expectedError(thrown);
    if (error === undefined) throw thrown;
    const wait = error.data['retry-after'];
    return respond(
      error.status,
      html`<h1>You cannot join with this link</h1>
<p>${error.message}</p>
<p><a href="/">Sign in</a></p>`,
      typeof wait === 'number' ? { 'Retry-After': retryAfterHeader(wait) } : {},
    );
  }
}

/** Values that a person has entered, with the error that one of them caused. */
interface Entered {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly error?: ChatError;
}

function form(token: string, found: OpenInvitation, { name, email, error }: Entered = {}): Response {
  const { invitation, organization, inviter, needs } = found;
  const address =
    needs === 'account'
      ? html`<p>Your email address: <strong>${invitation.email ?? ''}</strong></p>`
      : html`<label>Email<input name="email" type="email" autocomplete="email" value="${email ?? ''}" required></label>`;
  const account = html`<label>Full name<input name="name" autocomplete="name" maxlength="100" value="${name ?? ''}" required></label>
<label>Password<input name="password" type="password" autocomplete="new-password" minlength="${MIN_PASSWORD_LENGTH}" required></label>
<label>Repeat the password<input name="repeated" type="password" autocomplete="new-password" required></label>`;
  return respond(
    error?.status ?? 200,
    html`<h1>Join ${organization.name}</h1>
<p>${inviter.fullName} invites you to ${organization.name}.</p>
${error === undefined ? undefined : html`<p role="alert"><strong>${error.message}</strong></p>`}
<form method="post" action="${JOIN_PATH}${encodeURIComponent(token)}">
<div class="fields">
${address}
${needs === 'address' ? undefined : account}
<button type="submit">${needs === 'address' ? 'Continue' : 'Join'}</button>
</div>
</form>
<p class="soft">Do you already have an account? <a href="/">Sign in</a></p>`,
  );
}

function respond(status: number, content: Html, headers: Readonly<Record<string, string>> = {}): Response {
  const body = page('Join', html`<main><div class="card">${content}</div></main>`);
  return new Response(body, { status, headers: { ...pageHeaders({ hasForm: true, hasSecret: true }), ...headers } });
}
