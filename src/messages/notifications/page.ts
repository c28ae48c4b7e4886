import type { App, RequestCtx } from '../../access/context.ts';
import { requestOf, respond, shown } from '../../api/form-page.ts';
import { html } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';
import { UNSUBSCRIBE_PATH, type UnsubscribeLink, unsubscribe, userOfLink } from './unsubscribe.ts';

/** Title of the page, and its heading for an error. */
const [TITLE, UNCHANGED] = ['Email notifications', 'Nothing was changed'];

/**
 * Adds the page to which the link in emails about missed messages leads. Opening it changes nothing, because mail servers open
 * links to check them. A POST request turns the emails off, from the page's button or from an email program.
 *
 * @see RFC 8058
 */
export function addUnsubscribePage(web: Web, app: App): void {
  web.get(UNSUBSCRIBE_PATH, ({ req, env: { incoming } }) =>
    shown(TITLE, UNCHANGED, async () => {
      const link = linkIn((name) => req.query(name));
      const { email } = await userOfLink(app, organizationOf(await requestOf(app, incoming)), link);
      return respond(TITLE, 200, question(email, link));
    }),
  );
  web.post(UNSUBSCRIBE_PATH, ({ req, env: { incoming } }) =>
    shown(TITLE, UNCHANGED, async () => {
      const request = await requestOf(app, incoming);
      const organization = organizationOf(request);
      const link = linkIn((name) => req.query(name));
      await unsubscribe(app, organization, link, request.caller);
      return respond(TITLE, 200, done(organization.name));
    }),
  );
}

function organizationOf({ organization }: RequestCtx): Organization {
  if (organization === null) throw new NonexistentSubdomainError();
  return organization;
}

const linkIn = (query: (name: string) => string | undefined): UnsubscribeLink => ({
  userId: Number(query('user') ?? ''),
  token: query('token') ?? '',
});

const question = (email: string, { userId, token }: UnsubscribeLink) => html`<h1>Stop emails about missed messages</h1>
<form method="post" action="${UNSUBSCRIBE_PATH}?user=${userId}&token=${token}">
<p>They are sent to ${email}.</p>
<p><button type="submit">Stop these emails</button></p>
</form>`;

const done = (organization: string) => html`<h1>Emails turned off</h1>
<p>You will get no more emails about missed messages in ${organization}. You can turn them on again in your settings.</p>`;
