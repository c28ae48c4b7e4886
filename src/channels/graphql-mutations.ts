import { CHANNEL_PERMISSION_NAMES } from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { builder, type Types } from '../api/graphql/schema/builder.ts';
import { refuseBoth } from '../api/graphql/schema/deprecated-members.ts';
import { given, mutation } from '../api/graphql/schema/mutation.ts';
import {
  permissionEditsGiven,
  permissionEditsInput,
  permissionsGiven,
  permissionsInput,
  toWireSetting,
} from '../api/graphql/schema/permission-fields.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { ExpectationMismatchError } from '../platform/errors.ts';
import { archiveChannel, unarchiveChannel } from './archive.ts';
import { type ChannelOptions, createChannel } from './create.ts';
import {
  CHANNEL_DESCRIPTION,
  Channel,
  ChannelPrivacyEnum,
  DEFAULT,
  FOLDER,
  HISTORY,
  NAME,
  OPEN_TO,
  PERMISSIONS,
  PRIVATE,
  RETENTION,
  stillSeen,
  TOPICS,
  TopicsPolicyEnum,
  USE_PRIVACY,
  WEB_PUBLIC,
} from './graphql.ts';
import { privacyOptions } from './privacy.ts';
import type { Retention } from './settings.ts';
import { updateChannel } from './update.ts';

const ChannelPermissionsInput = permissionsInput(
  'ChannelPermissionsInput',
  'Holders of each permission on a new channel. Omitted permissions get their defaults.',
  CHANNEL_PERMISSION_MEANINGS,
);

const ChannelPermissionEditsInput = permissionEditsInput(
  'ChannelPermissionEditsInput',
  'Permissions on a channel to change. Omitted permissions do not change.',
  CHANNEL_PERMISSION_MEANINGS,
);

type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

const optionFields = (t: InputFields) => ({
  privacy: t.field({ type: ChannelPrivacyEnum, required: false, description: `${OPEN_TO} Default: PUBLIC.` }),
  isDefault: t.boolean({
    required: false,
    defaultValue: false,
    description: DEFAULT,
  }),
  folderId: t.id({ ...refersTo('ChannelFolder'), required: false, description: FOLDER }),
  topicsPolicy: t.field({ type: TopicsPolicyEnum, required: false, description: `${TOPICS} Default: INHERIT.` }),
  messageRetentionDays: t.int({ required: false, description: RETENTION }),
  permissions: t.field({ type: ChannelPermissionsInput, required: false, description: PERMISSIONS }),
  isAnnounced: t.boolean({
    required: false,
    defaultValue: false,
    description:
      'Whether the notification bot announces the channel in `Organization.newChannelAnnouncementsChannel`, if the ' +
      'channel is public and that setting names a channel.',
  }),
});

/** Fields that pages of the previous version send instead of `privacy`. */
const formerPrivacy = (t: InputFields) => ({
  isPrivate: t.boolean({ required: false, description: PRIVATE, deprecationReason: USE_PRIVACY }),
  isWebPublic: t.boolean({ required: false, description: WEB_PUBLIC, deprecationReason: USE_PRIVACY }),
  historyPublicToSubscribers: t.boolean({ required: false, description: HISTORY, deprecationReason: USE_PRIVACY }),
});

/** Checks that an input does not contain a field of `formerPrivacy` beside `privacy`. @throws ValidationError otherwise. */
const refuseBothPrivacies = (input: {
  readonly privacy?: unknown;
  readonly isPrivate?: unknown;
  readonly isWebPublic?: unknown;
  readonly historyPublicToSubscribers?: unknown;
}): void => {
  const { privacy, isPrivate, isWebPublic, historyPublicToSubscribers } = input;
  refuseBoth('privacy', privacy != null, { isPrivate, isWebPublic, historyPublicToSubscribers });
};

export const ChannelOptionsInput = builder.inputType('ChannelOptionsInput', {
  description: 'Properties of a new channel.',
  fields: optionFields,
});

/**
 * Converts a retention in days from GraphQL to the values of the service: null becomes `realm_default`, and -1 becomes
 * `unlimited`.
 */
const toRetention = (days: number | null): Retention =>
  days === null ? 'realm_default' : days === -1 ? 'unlimited' : days;

export function toOptions(input: typeof ChannelOptionsInput.$inferInput): ChannelOptions {
  const { permissions, messageRetentionDays, privacy, ...options } = input;
  return {
    ...given(options),
    ...(privacy != null && privacyOptions(privacy)),
    ...(messageRetentionDays != null && { messageRetentionDays: toRetention(messageRetentionDays) }),
    permissions: permissionsGiven(CHANNEL_PERMISSION_NAMES, permissions, toWireSetting),
  };
}

const SEEN = 'The channel after the change. Null if the change made it invisible to the viewer.';
const seenChannel = () => ({ channel: { type: Channel, nullable: true, description: SEEN } }) as const;

mutation('createChannel', {
  scope: 'administration',
  description: 'Creates a channel and subscribes its first users.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    description: t.string({ required: false, defaultValue: '', description: CHANNEL_DESCRIPTION }),
    subscriberIds: t.idList({
      ...refersTo('User'),
      required: false,
      defaultValue: [],
      description: 'Ids of the first subscribers.',
    }),
    ...optionFields(t),
    ...formerPrivacy(t),
  }),
  payload: seenChannel,
  resolve: async (ctx, { name, description, subscriberIds, ...options }) => {
    refuseBothPrivacies(options);
    const channelId = await createChannel(ctx, {
      ...toOptions(options),
      name,
      description: description ?? '',
      subscriberIds: subscriberIds ?? [],
    });
    return stillSeen(ctx, channelId);
  },
});

mutation('updateChannel', {
  scope: 'administration',
  description: 'Updates a channel. Omitted fields do not change. For users who can administer the channel.',
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'Id of the channel.' }),
    name: t.string({ required: false, description: NAME }),
    description: t.string({ required: false, description: CHANNEL_DESCRIPTION }),
    privacy: t.field({ type: ChannelPrivacyEnum, required: false, description: OPEN_TO }),
    ...formerPrivacy(t),
    isDefault: t.boolean({ required: false, description: `${DEFAULT} Only administrators can change it.` }),
    folderId: t.id({
      ...refersTo('ChannelFolder'),
      required: false,
      description: 'Id of the folder of the channel. Null removes the channel from its folder.',
    }),
    topicsPolicy: t.field({ type: TopicsPolicyEnum, required: false, description: TOPICS }),
    messageRetentionDays: t.int({ required: false, description: `${RETENTION} Only owners can change it.` }),
    permissions: t.field({ type: ChannelPermissionEditsInput, required: false, description: PERMISSIONS }),
  }),
  payload: seenChannel,
  errors: [ExpectationMismatchError],
  resolve: async (ctx, { channelId, folderId, messageRetentionDays, permissions, privacy, ...edit }) => {
    refuseBothPrivacies({ privacy, ...edit });
    await updateChannel(ctx, channelId, {
      ...given(edit),
      ...(privacy != null && privacyOptions(privacy)),
      folderId,
      ...(messageRetentionDays !== undefined && { messageRetentionDays: toRetention(messageRetentionDays) }),
      permissions: permissionEditsGiven(CHANNEL_PERMISSION_NAMES, permissions),
    });
    return stillSeen(ctx, channelId);
  },
});

mutation('archiveChannel', {
  scope: 'administration',
  description:
    'Archives a channel. An archived channel accepts no new messages. For users who can administer the channel.',
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Id of the channel.' }) }),
  payload: seenChannel,
  resolve: async (ctx, { channelId }) => {
    await archiveChannel(ctx, channelId);
    return stillSeen(ctx, channelId);
  },
});

mutation('unarchiveChannel', {
  scope: 'administration',
  description: 'Restores an archived channel. For users who can administer the channel.',
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Id of the channel.' }) }),
  payload: seenChannel,
  resolve: async (ctx, { channelId }) => {
    await unarchiveChannel(ctx, channelId);
    return stillSeen(ctx, channelId);
  },
});
