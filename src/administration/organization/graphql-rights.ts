import { type Ctx, signedIn } from '../../access/context.ts';
import type { ChannelActor } from '../../access/permissions/require.ts';
import { administersOrganization, ownsOrganization } from '../../access/roles.ts';
import { builder } from '../../api/graphql/builder.ts';
import { viewerAsActor } from '../../channels/loaders.ts';
import { mayChooseDefaultChannels, objectionToPrivacy } from '../../channels/settings.ts';
import { mayAddEmoji } from '../../people/emoji/service.ts';
import { mayCreateBots } from '../bots/owners.ts';
import { mayCreateGroups } from '../user-groups/service.ts';
import { mayCreateUsers } from '../users/service.ts';
import { Organization } from './graphql.ts';

// What the viewer may do that is about no object yet, or about the organisation itself. The rules are those of the changes;
// here, because features of floors below do not know the organisation.

const mayCreateChannels = (actor: ChannelActor, { inviteOnly = false, isWebPublic = false }): boolean =>
  objectionToPrivacy(actor, { inviteOnly, isWebPublic, historyPublicToSubscribers: true }) === undefined;

builder.objectFields(Organization, (t) => {
  const byRole = (description: string, may: (ctx: Ctx) => boolean) =>
    t.boolean({ description, resolve: (_realm, _args, ctx) => may(signedIn(ctx)) });
  const byPermission = (description: string, may: (actor: ChannelActor, ctx: Ctx) => boolean) =>
    t.boolean({ description, resolve: async (_realm, _args, ctx) => may(await viewerAsActor(ctx), signedIn(ctx)) });
  return {
    viewerCanEdit: byRole(
      'Whether the viewer may change it and its settings, but for those that are for owners.',
      administersOrganization,
    ),
    viewerCanEditOwnerSettings: byRole(
      'Whether the viewer may change settings that are for owners, as who may come in, and how long messages are kept.',
      ownsOrganization,
    ),
    viewerCanEditUserDefaults: byRole(
      'Whether the viewer may change the settings that new users begin with.',
      administersOrganization,
    ),
    viewerCanManageDomains: byRole(
      'Whether the viewer may add, change and remove the domains whose addresses may be used to join.',
      ownsOrganization,
    ),
    viewerCanManageProfileFields: byRole(
      'Whether the viewer may make, change, order and delete the fields of profiles.',
      administersOrganization,
    ),
    viewerCanManageChannelFolders: byRole(
      'Whether the viewer may make, change, archive and order channel folders.',
      administersOrganization,
    ),
    viewerCanChooseDefaultChannels: byRole(
      'Whether the viewer may say which channels new users are subscribed to, of those that they administer or create.',
      mayChooseDefaultChannels,
    ),
    viewerCanCreateUsers: byRole('Whether the viewer may create accounts for others.', mayCreateUsers),
    viewerCanCreateBots: byPermission('Whether the viewer may create bots.', (actor, { viewer }) =>
      mayCreateBots(actor, viewer),
    ),
    viewerCanCreateUserGroups: byPermission('Whether the viewer may create user groups.', mayCreateGroups),
    viewerCanCreatePublicChannels: byPermission(
      'Whether the viewer may create public channels, and make public those that they administer.',
      (actor) => mayCreateChannels(actor, {}),
    ),
    viewerCanCreatePrivateChannels: byPermission(
      'Whether the viewer may create private channels, and make private those that they administer.',
      (actor) => mayCreateChannels(actor, { inviteOnly: true }),
    ),
    viewerCanCreateWebPublicChannels: byPermission(
      'Whether the viewer may create channels that are read without an account, and open to that those they administer.',
      (actor) => mayCreateChannels(actor, { isWebPublic: true }),
    ),
    viewerCanAddCustomEmoji: byPermission(
      'Whether the viewer may add emoji to its own; under the name of a built-in one, administrators alone.',
      mayAddEmoji,
    ),
  };
});
