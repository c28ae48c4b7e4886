import { builder } from '../../api/graphql/schema/builder.ts';
import { publicMutation } from '../../api/graphql/schema/mutation.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import { ServerSettings } from '../organization/graphql.ts';
import { requestOrganization } from './service.ts';

builder.objectField(ServerSettings, 'allowsOrganizationCreation', (t) =>
  t.boolean({
    description:
      'Whether visitors can create organizations, with `requestOrganization` or on the page `/new-organization`.',
    resolve: (_settings, _args, { app: { config } }) =>
      config.allowsOrganizationCreation && config.smtpUrl !== undefined,
  }),
);

publicMutation('requestOrganization', {
  description:
    'Creates an organization, and sends its first owner a link. `completeSignUp` at the host of the organization creates the ' +
    'account of the owner with the token of the link, and opens the organization. The link is valid for a day; then the ' +
    'organization is removed. Limited to 3 requests per hour for an address, and to 10 per hour from a network. Requires no ' +
    'credentials. Refused if the operator does not permit it (`ServerSettings.allowsOrganizationCreation`), or the server ' +
    'cannot send email.',
  input: (t) => ({
    name: t.string({ description: 'Name of the organization, at most 40 characters.' }),
    subdomain: t.string({
      description: 'Subdomain of the organization: 3 to 63 letters, digits and hyphens. Upper case becomes lower case.',
    }),
    email: t.string({ description: 'Address of the first owner.' }),
  }),
  payload: () => ({
    email: { type: 'String', description: 'Address to which the email is sent.' },
    url: { type: 'String', description: 'URL of the organization, which can be used when the first owner has joined.' },
  }),
  errors: [RateLimitHitError],
  resolve: (request, wanted) => requestOrganization(request, wanted),
});
