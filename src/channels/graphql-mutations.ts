import { CHANNEL_PERMISSION_NAMES } from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { builder, type Types } from '../api/graphql/builder.ts';
import { given, mutation } from '../api/graphql/mutation.ts';
import {
  permissionEditsGiven,
  permissionEditsInput,
  permissionsGiven,
  permissionsInput,
  toWireSetting,
} from '../api/graphql/permission-fields.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { ExpectationMismatchError, UnauthorizedPrincipalError } from '../platform/errors.ts';
import { archiveChannel, unarchiveChannel } from './archive.ts';
import { type ChannelOptions, createChannel } from './create.ts';
import { ChannelAlreadyExistsError } from './errors.ts';
import {
  CHANNEL_DESCRIPTION,
  Channel,
  DEFAULT,
  FOLDER,
  HISTORY,
  NAME,
  PERMISSIONS,
  PRIVATE,
  RETENTION,
  stillSeen,
  TOPICS,
  TopicsPolicyEnum,
  WEB_PUBLIC,
} from './graphql.ts';
import type { Retention } from './settings.ts';
import { updateChannel } from './update.ts';

const ChannelPermissionsInput = permissionsInput(
  'ChannelPermissionsInput',
  'Who may do what in a new channel. What is left out takes its default.',
  CHANNEL_PERMISSION_MEANINGS,
);

const ChannelPermissionEditsInput = permissionEditsInput(
  'ChannelPermissionEditsInput',
  'Which permissions of a channel are to change.',
  CHANNEL_PERMISSION_MEANINGS,
);

type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

const optionFields = (t: InputFields) => ({
  isPrivate: t.boolean({ required: false, defaultValue: false, description: PRIVATE }),
  isWebPublic: t.boolean({ required: false, defaultValue: false, description: WEB_PUBLIC }),
  historyPublicToSubscribers: t.boolean({
    required: false,
    description: 'Of a private channel: whether new subscribers see what was sent before.',
  }),
  isDefault: t.boolean({
    required: false,
    defaultValue: false,
    description: DEFAULT,
  }),
  folderId: t.id({ ...refersTo('ChannelFolder'), required: false, description: FOLDER }),
  topicsPolicy: t.field({ type: TopicsPolicyEnum, required: false, description: `${TOPICS} INHERIT, if absent.` }),
  messageRetentionDays: t.int({ required: false, description: RETENTION }),
  permissions: t.field({ type: ChannelPermissionsInput, required: false, description: PERMISSIONS }),
});

export const ChannelOptionsInput = builder.inputType('ChannelOptionsInput', {
  description: 'How a new channel is to be.',
  fields: optionFields,
});

/** Null and -1 are what is stored; the core takes the interface's words. */
const toRetention = (days: number | null): Retention =>
  days === null ? 'realm_default' : days === -1 ? 'unlimited' : days;

export function toOptions(input: typeof ChannelOptionsInput.$inferInput): ChannelOptions {
  const { permissions, messageRetentionDays, ...options } = input;
  return {
    ...given(options),
    ...(messageRetentionDays != null && { messageRetentionDays: toRetention(messageRetentionDays) }),
    permissions: permissionsGiven(CHANNEL_PERMISSION_NAMES, permissions, toWireSetting),
  };
}

const SEEN = "The channel; null when the change put it out of the viewer's sight.";
const seenChannel = () => ({ channel: { type: Channel, nullable: true, description: SEEN } }) as const;

mutation('createChannel', {
  description: 'Creates a channel and subscribes its first users.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    description: t.string({ required: false, defaultValue: '', description: CHANNEL_DESCRIPTION }),
    subscriberIds: t.idList({
      ...refersTo('User'),
      required: false,
      defaultValue: [],
      description: 'The users it begins with.',
    }),
    ...optionFields(t),
  }),
  payload: seenChannel,
  errors: [ChannelAlreadyExistsError, UnauthorizedPrincipalError],
  resolve: async (ctx, { name, description, subscriberIds, ...options }) => {
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
  description: "Changes what is given of a channel. For the channel's administrators.",
  input: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'Which channel to change.' }),
    name: t.string({ required: false, description: NAME }),
    description: t.string({ required: false, description: CHANNEL_DESCRIPTION }),
    isPrivate: t.boolean({ required: false, description: PRIVATE }),
    isWebPublic: t.boolean({ required: false, description: WEB_PUBLIC }),
    historyPublicToSubscribers: t.boolean({ required: false, description: HISTORY }),
    isDefault: t.boolean({ required: false, description: `${DEFAULT} For administrators.` }),
    folderId: t.id({
      ...refersTo('ChannelFolder'),
      required: false,
      description: 'The folder to put it into; null takes it out of its folder.',
    }),
    topicsPolicy: t.field({ type: TopicsPolicyEnum, required: false, description: TOPICS }),
    messageRetentionDays: t.int({ required: false, description: `${RETENTION} For owners.` }),
    permissions: t.field({ type: ChannelPermissionEditsInput, required: false, description: PERMISSIONS }),
  }),
  payload: seenChannel,
  errors: [ExpectationMismatchError, UnauthorizedPrincipalError],
  resolve: async (ctx, { channelId, folderId, messageRetentionDays, permissions, ...edit }) => {
    await updateChannel(ctx, channelId, {
      ...given(edit),
      folderId,
      ...(messageRetentionDays !== undefined && { messageRetentionDays: toRetention(messageRetentionDays) }),
      permissions: permissionEditsGiven(CHANNEL_PERMISSION_NAMES, permissions),
    });
    return stillSeen(ctx, channelId);
  },
});

mutation('archiveChannel', {
  description: "Archives a channel: nothing more can be sent to it. For the channel's administrators.",
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Which channel to archive.' }) }),
  payload: seenChannel,
  resolve: async (ctx, { channelId }) => {
    await archiveChannel(ctx, channelId);
    return stillSeen(ctx, channelId);
  },
});

mutation('unarchiveChannel', {
  description: "Brings a channel back from the archive. For the channel's administrators.",
  input: (t) => ({ channelId: t.id({ ...refersTo('Channel'), description: 'Which channel to bring back.' }) }),
  payload: seenChannel,
  resolve: async (ctx, { channelId }) => {
    await unarchiveChannel(ctx, channelId);
    return stillSeen(ctx, channelId);
  },
});
