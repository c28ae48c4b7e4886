import { type Ctx, signedIn } from '../../access/context.ts';
import type { ChannelActor } from '../../access/permissions/require.ts';
import { administersOrganization, ownsOrganization } from '../../access/roles.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { viewerAsActor } from '../../channels/loaders.ts';
import { mayChooseDefaultChannels, objectionToPrivacy } from '../../channels/settings.ts';
import { mayAddEmoji } from '../../people/emoji/service.ts';
import { mayCreateBots } from '../bot-owners.ts';
import { mayCreateGroups } from '../user-groups/service.ts';
import { mayCreateUsers } from '../users/service.ts';
import { Organization } from './graphql.ts';

// Fields that state what the viewer can do in the organization. Each field calls the same function as the mutation that
// requires the permission. The fields are defined here, because features in lower layers cannot import the type `Organization`.

const mayCreateChannels = (actor: ChannelActor, { inviteOnly = false, isWebPublic = false }): boolean =>
  objectionToPrivacy(actor, { inviteOnly, isWebPublic, historyPublicToSubscribers: true }) === undefined;

builder.objectFields(Organization, (t) => {
  const byRole = (description: string, may: (ctx: Ctx) => boolean) =>
    t.boolean({ description, resolve: (_organization, _args, ctx) => may(signedIn(ctx)) });
  const byPermission = (description: string, may: (actor: ChannelActor, ctx: Ctx) => boolean) =>
    t.boolean({
      description,
      resolve: async (_organization, _args, ctx) => may(await viewerAsActor(ctx), signedIn(ctx)),
    });
  return {
    viewerCanEdit: byRole(
      'Whether the viewer can change the organization and its settings, except those reserved for owners.',
      administersOrganization,
    ),
    viewerCanEditOwnerSettings: byRole(
      'Whether the viewer can change the settings reserved for owners, such as which users can join and how long ' +
        'messages are kept.',
      ownsOrganization,
    ),
    viewerCanEditUserDefaults: byRole(
      'Whether the viewer can change the default settings of new users.',
      administersOrganization,
    ),
    viewerCanManageDomains: byRole(
      'Whether the viewer can add, change and remove the domains whose email addresses can be used to join.',
      ownsOrganization,
    ),
    viewerCanManageProfileFields: byRole(
      'Whether the viewer can create, change, reorder and delete custom profile fields.',
      administersOrganization,
    ),
    viewerCanManageChannelFolders: byRole(
      'Whether the viewer can create, change, archive and reorder channel folders.',
      administersOrganization,
    ),
    viewerCanChooseDefaultChannels: byRole(
      'Whether the viewer can set, for a channel that they create or administer, whether new users are subscribed ' +
        'to it by default.',
      mayChooseDefaultChannels,
    ),
    viewerCanCreateUsers: byRole('Whether the viewer can create accounts for other users.', mayCreateUsers),
    viewerCanCreateBots: byPermission('Whether the viewer can create bots.', (actor, { viewer }) =>
      mayCreateBots(actor, viewer),
    ),
    viewerCanCreateUserGroups: byPermission('Whether the viewer can create user groups.', mayCreateGroups),
    viewerCanCreatePublicChannels: byPermission(
      'Whether the viewer can create public channels, and make channels that they administer public.',
      (actor) => mayCreateChannels(actor, {}),
    ),
    viewerCanCreatePrivateChannels: byPermission(
      'Whether the viewer can create private channels, and make channels that they administer private.',
      (actor) => mayCreateChannels(actor, { inviteOnly: true }),
    ),
    viewerCanCreateWebPublicChannels: byPermission(
      'Whether the viewer can create web-public channels, which can be read without signing in, and make channels that ' +
        'they administer web-public.',
      (actor) => mayCreateChannels(actor, { isWebPublic: true }),
    ),
    viewerCanAddCustomEmoji: byPermission(
      'Whether the viewer can add custom emoji. Only administrators can use the name of a built-in emoji.',
      mayAddEmoji,
    ),
  };
});
