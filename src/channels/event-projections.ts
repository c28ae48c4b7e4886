import {
  changeProjections,
  EventProjection,
  type ProjectedFields,
  referenceProjection,
} from '../api/graphql/schema/event-projections.ts';
import { userReference } from '../people/event-projections.ts';
import type { ChannelChange, ProjectedChannels, ProjectedChannelUpdate } from './events.ts';
import { folderReference } from './folders/event-projections.ts';
import { privacyOf } from './privacy.ts';
import type { ChannelSnapshot } from './wire.ts';

/**
 * Event projection (the fields that an event alone provides) of a channel, for events that contain only its id: `id` and
 * `databaseId`.
 */
export const channelReference = referenceProjection('Channel');

/** Event projection of a channel, for events that contain its id and name: `id`, `databaseId` and name. */
export const namedChannel = new EventProjection<{ readonly id: number; readonly name: string }>(
  'Channel',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, name: ({ name }) => name },
);

/**
 * Event projection of a channel that some recipients of the event cannot see. It has no fields, so that the channel is read
 * with the rights of each recipient.
 */
export const channelToBeSeen = new EventProjection<{ readonly id: number }>(
  'Channel',
  { idOf: ({ id }) => id, isSeen: false },
  {},
);

const identity = { idOf: (channel: ChannelSnapshot) => channel.stream_id };

const privacyIn = (channel: Pick<ChannelSnapshot, 'invite_only' | 'is_web_public' | 'history_public_to_subscribers'>) =>
  privacyOf({
    inviteOnly: channel.invite_only,
    isWebPublic: channel.is_web_public,
    historyPublicToSubscribers: channel.history_public_to_subscribers,
  });

/**
 * Event projection fields of a channel, for events of previous versions, which did not contain the whole channel. Subscriber
 * counts are not projected, because they have their own events. Permissions are not projected, because the users and groups
 * that hold them must be fetched from the database.
 */
export const knownOfChannelBefore: ProjectedFields<ChannelSnapshot> = {
  databaseId: (channel: ChannelSnapshot) => channel.stream_id,
  name: ({ name }: ChannelSnapshot) => name,
  description: ({ description }: ChannelSnapshot) => description,
  renderedDescription: (channel: ChannelSnapshot) => channel.rendered_description,
  isPrivate: (channel: ChannelSnapshot) => channel.invite_only,
  isWebPublic: (channel: ChannelSnapshot) => channel.is_web_public,
  historyPublicToSubscribers: (channel: ChannelSnapshot) => channel.history_public_to_subscribers,
  privacy: (channel: ChannelSnapshot) => privacyIn(channel),
  isArchived: (channel: ChannelSnapshot) => channel.is_archived,
  isRecentlyActive: (channel: ChannelSnapshot) => channel.is_recently_active,
  weeklyTraffic: (channel: ChannelSnapshot) => channel.stream_weekly_traffic,
  topicsPolicy: (channel: ChannelSnapshot) => channel.topics_policy,
  messageRetentionDays: (channel: ChannelSnapshot) => channel.message_retention_days,
  creator: { projection: userReference, of: (channel: ChannelSnapshot) => channel.creator_id },
  folder: { projection: folderReference, of: (channel: ChannelSnapshot) => channel.folder_id },
};

/**
 * Event projection fields of a channel, for events that contain the whole channel: those of earlier events, the creation time,
 * and whether it is a default channel.
 */
export const knownOfChannel: ProjectedFields<ChannelSnapshot> = {
  ...knownOfChannelBefore,
  createdAt: ({ row }) => new Date(row?.createdAt ?? ''),
  isDefault: ({ row }) => row?.isDefault,
};

const channelProjection = new EventProjection<ChannelSnapshot>('Channel', identity, knownOfChannel);
const earlyChannelProjection = new EventProjection<ChannelSnapshot>('Channel', identity, knownOfChannelBefore);

/**
 * Returns the event projection of channels that become visible: all columns of the channels. Events of previous versions lack
 * the creation time, and whether a channel is a default channel.
 */
export const projectionOf = ({ facts }: { readonly facts: ProjectedChannels }): EventProjection<ChannelSnapshot> =>
  facts.channels.every(({ row }) => row !== undefined) ? channelProjection : earlyChannelProjection;

const valueIn = ({ change }: ProjectedChannelUpdate) => change.value;

type Of<P extends ChannelChange['property']> = Extract<ChannelChange, { readonly property: P }>;
const privacyChange = ({ change }: ProjectedChannelUpdate) => change as Of<'invite_only'>;

const changes = changeProjections<ProjectedChannelUpdate>('Channel', ({ id }) => id, {
  name: { name: valueIn },
  description: {
    description: valueIn,
    renderedDescription: ({ change }) => (change as Of<'description'>).rendered_description,
  },
  invite_only: {
    isPrivate: valueIn,
    isWebPublic: (update) => privacyChange(update).is_web_public,
    historyPublicToSubscribers: (update) => privacyChange(update).history_public_to_subscribers,
    privacy: (update) => privacyIn({ ...privacyChange(update), invite_only: privacyChange(update).value }),
  },
  is_archived: { isArchived: valueIn },
  folder_id: { folder: { projection: folderReference, of: valueIn } },
  topics_policy: { topicsPolicy: valueIn },
  message_retention_days: { messageRetentionDays: valueIn },
});

/**
 * Returns the event projection of a channel after a change of one property: `id`, `databaseId`, and the fields that show the
 * property.
 */
export const changedChannel = ({
  facts,
}: {
  readonly facts: ProjectedChannelUpdate;
}): EventProjection<ProjectedChannelUpdate> => changes(facts.change.property);

/** Event projection of a default channel, to which new users are subscribed: `id`, `databaseId`, and true as `isDefault`. */
export const defaultChannel = new EventProjection<number>(
  'Channel',
  { idOf: (id) => id },
  { databaseId: (id) => id, isDefault: () => true },
);
