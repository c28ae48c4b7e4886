import type { App } from '../../access/context.ts';
import { addressField, orForm, readSentForm, refusalIn, respond, shown } from '../../api/form-page.ts';
import { html } from '../../api/html.ts';
import type { Web } from '../../api/rest/router.ts';
import type { ChatError } from '../../platform/errors.ts';
import { hostOf } from '../../platform/hosts.ts';
import { MAX_ORGANIZATION_NAME_LENGTH } from '../../platform/limits.ts';
import { requestOrganization, requireOpen } from './service.ts';

/** Path of the page on which visitors create an organization. */
const NEW_ORGANIZATION_PATH = '/new-organization';
const TITLE = 'Create an organization';
const REFUSED = 'You cannot create an organization';

/** Adds the page on which visitors create an organization, if the operator permits it. */
export function addNewOrganizationPage(web: Web, app: App): void {
  web.get(NEW_ORGANIZATION_PATH, () =>
    shown(TITLE, REFUSED, async () => {
      requireOpen(app);
      return form(app);
    }),
  );
  web.post(NEW_ORGANIZATION_PATH, ({ env: { incoming } }) =>
    shown(TITLE, REFUSED, async () => {
      const { request, fields } = await readSentForm(app, incoming);
      const [name = '', subdomain = '', email = ''] = ['name', 'subdomain', 'email'].map((field) => fields.get(field));
      const wanted = { name, subdomain, email: email.trim() };
      return orForm(
        async () => {
          await requestOrganization(request, wanted);
          return respond(
            TITLE,
            200,
            html`<h1>Check your email</h1>
<p>We sent an email to ${wanted.email}. Follow the link in it within a day to become the owner of ${name.trim()}.</p>`,
          );
        },
        (error) => form(app, { ...wanted, error }),
      );
    }),
  );
}

/** Values that a person has entered, with the error that one of them caused. */
interface Entered {
  readonly name?: string;
  readonly subdomain?: string;
  readonly email?: string;
  readonly error?: ChatError;
}

const form = ({ config }: App, { name = '', subdomain = '', email, error }: Entered = {}): Response =>
  respond(
    TITLE,
    error?.status ?? 200,
    html`<h1>Create an organization</h1>
${refusalIn(error)}
<form method="post" action="${NEW_ORGANIZATION_PATH}">
<div class="fields">
<label>Name of the organization<input name="name" maxlength="${MAX_ORGANIZATION_NAME_LENGTH}" value="${name}" required></label>
<label>Subdomain<input name="subdomain" autocapitalize="none" spellcheck="false" maxlength="63" value="${subdomain}" required></label>
<p class="soft">The address becomes <em>subdomain</em>${hostOf(config, 'x').slice(1)}.</p>
${addressField(email)}
<button type="submit">Continue</button>
</div>
</form>
<p class="soft">We send a link to this email address, with which you become the owner.</p>`,
  );
