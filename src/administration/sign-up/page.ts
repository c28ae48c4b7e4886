import type { App } from '../../access/context.ts';
import {
  accountFields,
  addressField,
  browserOf,
  orForm,
  passwordIn,
  readSentForm,
  refusalIn,
  requestOf,
  respond,
  shown,
  toChat,
} from '../../api/form-page.ts';
import { html } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import type { ChatError } from '../../platform/errors.ts';
import { isOwner } from '../../platform/roles.ts';
import { SIGN_UP_PATH } from './links.ts';
import { completeSignUp, findSignUp, type OpenSignUp, requestSignUp } from './service.ts';

const TITLE = 'Create an account';
const REFUSED = 'You cannot create an account';

/**
 * Adds the pages on which people create an account without an invitation: a form for the address, and the page of the link in the
 * email. Opening a page changes nothing, because mail servers open links to check them.
 */
export function addSignUpPages(web: Web, app: App): void {
  web.get(SIGN_UP_PATH, ({ env: { incoming } }) =>
    shown(TITLE, REFUSED, async () => addressForm((await requestOf(app, incoming)).organization?.name)),
  );
  web.post(SIGN_UP_PATH, ({ env: { incoming } }) =>
    shown(TITLE, REFUSED, async () => {
      const { request, fields } = await readSentForm(app, incoming);
      const email = fields.get('email')?.trim() ?? '';
      return orForm(
        async () => {
          await requestSignUp(request, email);
          return respond(
            TITLE,
            200,
            html`<h1>Check your email</h1>
<p>We sent an email to ${email}. Follow the link in it to create your account. The link is valid for a day.</p>`,
          );
        },
        (error) => addressForm(request.organization?.name, { email, error }),
      );
    }),
  );
  web.get(`${SIGN_UP_PATH}/:token`, ({ req, env: { incoming } }) =>
    shown(TITLE, REFUSED, async () => {
      const request = await requestOf(app, incoming);
      const token = req.param('token');
      return accountForm(token, await findSignUp(request, request.work.db, token));
    }),
  );
  web.post(`${SIGN_UP_PATH}/:token`, ({ req, env: { incoming, outgoing } }) =>
    shown(TITLE, REFUSED, async () => {
      const token = req.param('token');
      const { request, fields } = await readSentForm(app, incoming);
      const found = await findSignUp(request, request.work.db, token);
      const name = fields.get('name') ?? '';
      return orForm(
        async () => {
          const given = { token, fullName: name, password: passwordIn(fields) };
          await completeSignUp(request, given, browserOf(incoming, outgoing));
          return toChat();
        },
        (error) => accountForm(token, found, { name, error }),
      );
    }),
  );
}

/** Values that a person has entered, with the error that one of them caused. */
interface Entered {
  readonly name?: string;
  readonly email?: string;
  readonly error?: ChatError;
}

const addressForm = (organization: string | undefined, { email, error }: Entered = {}): Response =>
  respond(
    TITLE,
    error?.status ?? 200,
    html`<h1>Create an account</h1>
<p>Enter your email address to get a link with which you can join ${organization ?? 'the organization'}.</p>
${refusalIn(error)}
<form method="post" action="${SIGN_UP_PATH}">
<div class="fields">
${addressField(email)}
<button type="submit">Continue</button>
</div>
</form>
<p class="soft">Do you already have an account? <a href="/">Sign in</a></p>`,
  );

function accountForm(token: string, { link, organization }: OpenSignUp, { name, error }: Entered = {}): Response {
  const purpose = isOwner(link.role)
    ? html`<p>You become the owner of ${organization.name}.</p>`
    : html`<p>You join ${organization.name}.</p>`;
  return respond(
    TITLE,
    error?.status ?? 200,
    html`<h1>Create your account</h1>
${purpose}
${refusalIn(error)}
<form method="post" action="${SIGN_UP_PATH}/${encodeURIComponent(token)}">
<div class="fields">
<p>Your email address: <strong>${link.email}</strong></p>
${accountFields(name)}
<button type="submit">Create account</button>
</div>
</form>`,
  );
}
