import { changeFacts, EntityFacts, type KnownFields, referenceFacts } from '../api/graphql/entity-facts.ts';
import { userReference } from '../people/entity-facts.ts';
import type { ChannelChange, KnownChannels, KnownUpdate } from './events.ts';
import { folderReference } from './folders/entity-facts.ts';
import type { ChannelFacts } from './wire.ts';

/** A channel of which an event knows the id alone. */
export const channelReference = referenceFacts('Channel');

/** A channel that an event names. */
export const namedChannel = new EntityFacts<{ readonly id: number; readonly name: string }>(
  'Channel',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, name: ({ name }) => name },
);

/** A channel that not everybody need see who hears of it. */
export const channelToBeSeen = new EntityFacts<{ readonly id: number }>(
  'Channel',
  { idOf: ({ id }) => id, isSeen: false },
  {},
);

const identity = { idOf: (channel: ChannelFacts) => channel.stream_id };

/**
 * What events know of a channel that were logged before they told all. How many are subscribed is told apart; who holds a
 * permission shows people and groups, which are read.
 */
export const knownOfChannelBefore: KnownFields<ChannelFacts> = {
  databaseId: (channel: ChannelFacts) => channel.stream_id,
  name: ({ name }: ChannelFacts) => name,
  description: ({ description }: ChannelFacts) => description,
  renderedDescription: (channel: ChannelFacts) => channel.rendered_description,
  isPrivate: (channel: ChannelFacts) => channel.invite_only,
  isWebPublic: (channel: ChannelFacts) => channel.is_web_public,
  historyPublicToSubscribers: (channel: ChannelFacts) => channel.history_public_to_subscribers,
  isArchived: (channel: ChannelFacts) => channel.is_archived,
  isRecentlyActive: (channel: ChannelFacts) => channel.is_recently_active,
  weeklyTraffic: (channel: ChannelFacts) => channel.stream_weekly_traffic,
  topicsPolicy: (channel: ChannelFacts) => channel.topics_policy,
  messageRetentionDays: (channel: ChannelFacts) => channel.message_retention_days,
  creator: { facts: userReference, of: (channel: ChannelFacts) => channel.creator_id },
  folder: { facts: folderReference, of: (channel: ChannelFacts) => channel.folder_id },
};

/** What events know of a channel that they show whole. */
export const knownOfChannel: KnownFields<ChannelFacts> = {
  ...knownOfChannelBefore,
  createdAt: ({ row }) => new Date(row?.createdAt ?? ''),
  isDefault: ({ row }) => row?.isDefault,
};

const channelFacts = new EntityFacts<ChannelFacts>('Channel', identity, knownOfChannel);
const earlyFacts = new EntityFacts<ChannelFacts>('Channel', identity, knownOfChannelBefore);

/** What an event knows of the channels that come into sight. */
export const factsAbout = ({ facts }: { readonly facts: KnownChannels }): EntityFacts<ChannelFacts> =>
  facts.channels.every(({ row }) => row !== undefined) ? channelFacts : earlyFacts;

const valueIn = ({ change }: KnownUpdate) => change.value;

type Of<P extends ChannelChange['property']> = Extract<ChannelChange, { readonly property: P }>;
const privacyIn = ({ change }: KnownUpdate) => change as Of<'invite_only'>;

const changes = changeFacts<KnownUpdate>('Channel', ({ id }) => id, {
  name: { name: valueIn },
  description: {
    description: valueIn,
    renderedDescription: ({ change }) => (change as Of<'description'>).rendered_description,
  },
  invite_only: {
    isPrivate: valueIn,
    isWebPublic: (update) => privacyIn(update).is_web_public,
    historyPublicToSubscribers: (update) => privacyIn(update).history_public_to_subscribers,
  },
  is_archived: { isArchived: valueIn },
  folder_id: { folder: { facts: folderReference, of: valueIn } },
  topics_policy: { topicsPolicy: valueIn },
  message_retention_days: { messageRetentionDays: valueIn },
});

/** What an event knows of a channel of which one property changed. */
export const changedChannel = ({ facts }: { readonly facts: KnownUpdate }): EntityFacts<KnownUpdate> =>
  changes(facts.change.property);

/** What is known of a channel that new users are subscribed to. */
export const defaultChannel = new EntityFacts<number>(
  'Channel',
  { idOf: (id) => id },
  { databaseId: (id) => id, isDefault: () => true },
);
