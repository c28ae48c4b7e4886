import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { organizationSpaceUsed } from '../../messages/attachments/service.ts';
import { invitationEmailsPerDay, invitationEmailsSent } from '../invitations/service.ts';
import { Organization } from './graphql.ts';

builder.objectField(Organization, 'invitationEmailsSent', (t) =>
  t.int({
    nullable: true,
    description:
      'Number of invitation emails that the organization sent within the last 24 hours. Null if the viewer is not an ' +
      'administrator.',
    resolve: (_organization, _args, ctx) => invitationEmailsSent(signedIn(ctx)),
  }),
);

builder.objectField(Organization, 'invitationEmailsPerDay', (t) =>
  t.int({
    nullable: true,
    description:
      'Number of invitation emails that the organization can send within 24 hours: at most 100 in the first three days of an ' +
      'organization that a visitor created, unless the operator set a limit for it. Null if unlimited, or if the viewer is ' +
      'not an administrator.',
    resolve: (_organization, _args, ctx) => invitationEmailsPerDay(signedIn(ctx)),
  }),
);

builder.objectField(Organization, 'uploadSpaceUsed', (t) =>
  t.field({
    type: 'LongId',
    nullable: true,
    description: 'Size of all files that users uploaded, in bytes. Null unless the viewer is an administrator.',
    resolve: (_organization, _args, ctx) => organizationSpaceUsed(signedIn(ctx)),
  }),
);
