import type { App, RequestCtx } from '../../access/context.ts';
import { requestOf, respond, shown } from '../../api/form-page.ts';
import { html } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';
import type { UnsubscribableKind } from '../../platform/mail/outbox.ts';
import { UNSUBSCRIBE_PATH, type UnsubscribeLink, unsubscribe, unsubscribePath, userOfLink } from './unsubscribe.ts';

/** Title of the page, and its heading for an error. */
const [TITLE, UNCHANGED] = ['Email notifications', 'Nothing was changed'];

/**
 * Adds the page to which the link in emails about missed messages and in digests leads. Opening it changes nothing, because mail servers open
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
      return respond(TITLE, 200, done(organization.name, link));
    }),
  );
}

function organizationOf({ organization }: RequestCtx): Organization {
  if (organization === null) throw new NonexistentSubdomainError();
  return organization;
}

const linkIn = (query: (name: string) => string | undefined): UnsubscribeLink => ({
  kind: query('emails') === 'digest' ? 'digest' : 'missed',
  userId: Number(query('user') ?? ''),
  token: query('token') ?? '',
});

/** Names of the emails, as they follow a verb. */
const NAMES: Readonly<Record<UnsubscribableKind, string>> = {
  missed: 'emails about missed messages',
  digest: 'digest emails',
};

const question = (email: string, link: UnsubscribeLink) => html`<h1>Stop ${NAMES[link.kind]}</h1>
<form method="post" action="${unsubscribePath(link)}">
<p>They are sent to ${email}.</p>
<p><button type="submit">Stop these emails</button></p>
</form>`;

const done = (organization: string, { kind }: UnsubscribeLink) => html`<h1>Emails turned off</h1>
<p>You will get no more ${NAMES[kind]} in ${organization}. You can turn them on again in your settings.</p>`;
