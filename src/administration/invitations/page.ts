import type { App, RequestCtx } from '../../access/context.ts';
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
import { type ExternalMethod, externalMethods } from '../identity-providers.ts';
import { acceptInvitation, findInvitation, type OpenInvitation, requestInvitation } from './joining.ts';
import { JOIN_PATH } from './mail.ts';

const TITLE = 'Join';
const REFUSED = 'You cannot join with this link';

/**
 * Adds the page to which an invitation leads. Opening the page changes nothing, because mail servers open links to check them.
 * The page's form creates the account, signs the browser in, and leads to the chat.
 */
export function addInvitationPage(web: Web, app: App): void {
  web.get(`${JOIN_PATH}:token`, ({ req, env: { incoming } }) => {
    const token = req.param('token');
    return shown(TITLE, REFUSED, async () => {
      const request = await requestOf(app, incoming);
      return form(token, await open(request, token), await providersOf(request));
    });
  });
  web.post(`${JOIN_PATH}:token`, ({ req, env: { incoming, outgoing } }) => {
    const token = req.param('token');
    return shown(TITLE, REFUSED, async () => {
      const { request, fields } = await readSentForm(app, incoming);
      const found = await open(request, token);
      const providers = await providersOf(request);
      const [name = '', email = ''] = ['name', 'email'].map((field) => fields.get(field));
      return orForm(
        async () => {
          if (found.needs === 'address') {
            await requestInvitation(request, { token, email });
            return respond(
              TITLE,
              200,
              html`<h1>Check your email</h1>
<p>We sent an email to ${email}. Follow the link in it to join ${found.organization.name}.</p>`,
            );
          }
          const given = { token, fullName: name, password: passwordIn(fields) };
          const user = await acceptInvitation(request, given, browserOf(incoming, outgoing));
          return found.invitation.email === null ? created(found, user.email) : toChat();
        },
        (error) => form(token, found, providers, { name, email, error }),
      );
    });
  });
}

const open = (request: RequestCtx, token: string) => findInvitation(request, request.work.db, token);

const providersOf = ({ work, organization }: RequestCtx) => externalMethods(work.db, organization);

/** Values that a person has entered, with the error that one of them caused. */
interface Entered {
  readonly name?: string;
  readonly email?: string;
  readonly error?: ChatError;
}

function form(
  token: string,
  found: OpenInvitation,
  providers: readonly ExternalMethod[],
  { name, email, error }: Entered = {},
): Response {
  const { invitation, organization, inviter, needs } = found;
  return respond(
    TITLE,
    error?.status ?? 200,
    html`<h1>Join ${organization.name}</h1>
<p>${inviter.fullName} invites you to ${organization.name}.</p>
${refusalIn(error)}
<form method="post" action="${JOIN_PATH}${encodeURIComponent(token)}">
<div class="fields">
${needs === 'account' ? addressOf(invitation.email) : addressField(email)}
${needs === 'address' ? undefined : accountFields(name)}
<button type="submit">${needs === 'address' ? 'Continue' : 'Join'}</button>
</div>
</form>
${signInLinks(providers, token)}
<p class="soft">Do you already have an account? <a href="/">Sign in</a></p>`,
  );
}

/** Returns links with which a person joins through an identity provider, without a password. */
const signInLinks = (providers: readonly ExternalMethod[], token: string) =>
  providers.length === 0
    ? undefined
    : html`<section aria-label="Single sign-on">
<p class="soft">Or join without a password:</p>
${providers.map(
  ({ displayName, loginUrl }) =>
    html`<a class="button" href="${loginUrl}?${new URLSearchParams({ invitation: token }).toString()}"><bdi>${displayName}</bdi></a>`,
)}
</section>`;

const addressOf = (email: string | null) =>
  email === null
    ? html`<p>This server cannot send email. You get an address with which you sign in.</p>`
    : html`<p>Your email address: <strong>${email}</strong></p>`;

/** Shows the address that the service has created for a new user. */
const created = ({ organization }: OpenInvitation, email: string): Response =>
  respond(
    TITLE,
    200,
    html`<h1>Welcome to ${organization.name}</h1>
<p>Sign in with this address and your password from now on. Keep the address: no email can be sent to it.</p>
<p><strong>${email}</strong></p>
<p><a href="/">Continue</a></p>`,
  );
