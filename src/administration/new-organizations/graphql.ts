import { builder } from '../../api/graphql/schema/builder.ts';
import { ServerSettings } from '../organization/graphql.ts';

builder.objectField(ServerSettings, 'allowsOrganizationCreation', (t) =>
  t.boolean({
    description: 'Whether visitors can create organizations on the page `/new-organization`.',
    resolve: (_settings, _args, { app: { config } }) =>
      config.allowsOrganizationCreation && config.smtpUrl !== undefined,
  }),
);
