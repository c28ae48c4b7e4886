import { CHANNEL_PERMISSION_NAMES } from '../access/permissions/channel-permissions.ts';
import { CHANNEL_PERMISSION_MEANINGS } from '../access/permissions/meanings.ts';
import { builder } from '../api/graphql/builder.ts';
import { fromEvent } from '../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../api/graphql/event-types.ts';
import { refersTo } from '../api/graphql/refs.ts';
import { changedChannel, defaultChannel, factsAbout } from './entity-facts.ts';
import type { KnownChannels, KnownUpdate } from './events.ts';
import { Channel, TOPICS } from './graphql.ts';

eventType<unknown, KnownChannels>(
  'stream',
  'create',
  'ChannelsCreatedEvent',
  (t) => ({
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'Those that the user sees from here on.',
      ...fromEvent(factsAbout, ({ facts }: EventSource<unknown, KnownChannels>) => facts.channels),
    }),
  }),
  { description: "Channels came into the user's sight: they are new, or may be seen from here on." },
);

eventType<{ stream_ids: readonly number[] }>(
  'stream',
  'delete',
  'ChannelsDeletedEvent',
  (t) => ({
    channelIds: t.idList({
      ...refersTo('Channel'),
      description: 'Those that the user sees no more.',
      resolve: ({ event }) => event.stream_ids,
    }),
  }),
  { description: "Channels left the user's sight." },
);

/** What may change of a channel, and its name on the wire. */
const CHANNEL_PROPERTIES = {
  NAME: { value: 'name', description: 'What it is called.' },
  DESCRIPTION: { value: 'description', description: 'What it is for, as source and as HTML.' },
  PRIVACY: { value: 'invite_only', description: 'Who sees the channel, and its history.' },
  IS_ARCHIVED: { value: 'is_archived', description: 'Whether nothing more can be sent to it.' },
  FOLDER: { value: 'folder_id', description: 'The folder it stands in.' },
  TOPICS_POLICY: { value: 'topics_policy', description: TOPICS },
  MESSAGE_RETENTION_DAYS: {
    value: 'message_retention_days',
    description: 'For how many days messages in it are kept.',
  },
  POST_POLICY: { value: 'stream_post_policy', description: 'For old clients: who may send messages.' },
  IS_ANNOUNCEMENT_ONLY: {
    value: 'is_announcement_only',
    description: 'For still older clients: whether only administrators may send messages.',
  },
  ...Object.fromEntries(
    CHANNEL_PERMISSION_NAMES.map((name) => [
      name.replace(/_group$/, '').toUpperCase(),
      { value: name, description: `The permission: ${CHANNEL_PERMISSION_MEANINGS[name]}` },
    ]),
  ),
};

const ChannelProperty = builder.enumType('ChannelProperty', {
  description: 'What can change of a channel, with the forms that old clients know.',
  values: CHANNEL_PROPERTIES,
});

interface WireChannelUpdate {
  readonly property: string;
}

eventType<WireChannelUpdate, KnownUpdate>(
  'stream',
  'update',
  'ChannelUpdatedEvent',
  (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'The channel that changed.',
      ...fromEvent(changedChannel, ({ facts }: EventSource<WireChannelUpdate, KnownUpdate>) => facts),
    }),
    property: t.field({
      type: ChannelProperty,
      description: 'What changed of it.',
      resolve: ({ event }) => event.property,
    }),
  }),
  { description: 'One property of a channel changed.' },
);

eventType<{ default_streams: readonly number[] }>(
  'default_streams',
  undefined,
  'DefaultChannelsChangedEvent',
  (t) => ({
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'All channels that new users are subscribed to.',
      ...fromEvent(
        defaultChannel,
        ({ event }: EventSource<{ default_streams: readonly number[] }>) => event.default_streams,
      ),
    }),
  }),
  { description: 'Other channels are the ones new users are subscribed to; these are all of them.' },
);
