import { CHANNEL_PERMISSION_NAMES } from '../access/permissions/channel-permissions.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../api/graphql/schema/event-projections.ts';
import {
  type EventSource,
  eventType,
  outdatedOf,
  outdatedRoot,
  PERMISSIONS,
} from '../api/graphql/schema/event-types.ts';
import { refersTo } from '../api/graphql/schema/refs.ts';
import { changedChannel, defaultChannel, projectionOf } from './event-projections.ts';
import type { ProjectedChannels, ProjectedChannelUpdate } from './events.ts';
import { Channel, TOPICS } from './graphql.ts';

eventType<unknown, ProjectedChannels>(
  'stream',
  'create',
  'ChannelsCreatedEvent',
  (t) => ({
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'Channels that became visible.',
      ...projectedFromEvent(projectionOf, ({ facts }: EventSource<unknown, ProjectedChannels>) => facts.channels),
    }),
  }),
  {
    description:
      'Channels became visible to the viewer: new channels, or existing ones that the viewer can see from now on.',
    outdates: ['channels'],
  },
);

eventType<{ stream_ids: readonly number[] }>(
  'stream',
  'delete',
  'ChannelsDeletedEvent',
  (t) => ({
    channelIds: t.idList({
      ...refersTo('Channel'),
      description: 'Ids of the channels that the viewer can no longer see.',
      resolve: ({ event }) => event.stream_ids,
    }),
  }),
  { description: 'Channels are no longer visible to the viewer.', outdates: ['channels', 'subscriptions'] },
);

/** Properties of a channel that can change, with their names on the wire. */
const CHANNEL_PROPERTIES = {
  NAME: { value: 'name', description: 'Name of the channel.' },
  DESCRIPTION: { value: 'description', description: 'Description of the channel, in Markdown and as HTML.' },
  PRIVACY: {
    value: 'invite_only',
    description: 'Users who can read the channel, and whether new subscribers can read earlier messages.',
  },
  IS_ARCHIVED: { value: 'is_archived', description: 'Whether the channel is archived.' },
  FOLDER: { value: 'folder_id', description: 'Folder of the channel.' },
  TOPICS_POLICY: { value: 'topics_policy', description: TOPICS },
  MESSAGE_RETENTION_DAYS: {
    value: 'message_retention_days',
    description: 'Number of days for which messages are kept.',
  },
  PERMISSIONS: { value: 'permissions', description: 'Holders of a permission on the channel.' },
} as const;

type Property = (typeof CHANNEL_PROPERTIES)[keyof typeof CHANNEL_PROPERTIES]['value'];

const PROPERTIES: ReadonlyMap<string, Property> = new Map([
  ...Object.values(CHANNEL_PROPERTIES).map(({ value }) => [value, value] as const),
  ...CHANNEL_PERMISSION_NAMES.map((name) => [name, 'permissions'] as const),
]);

const ChannelProperty = builder.enumType('ChannelProperty', {
  description: 'A property of a channel that can change, named as in `Channel`.',
  values: CHANNEL_PROPERTIES,
});

interface WireChannelUpdate {
  readonly property: string;
}

eventType<WireChannelUpdate, ProjectedChannelUpdate>(
  'stream',
  'update',
  'ChannelUpdatedEvent',
  (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: 'The channel that changed.',
      ...projectedFromEvent(
        changedChannel,
        ({ facts }: EventSource<WireChannelUpdate, ProjectedChannelUpdate>) => facts,
      ),
    }),
    property: t.field({
      type: ChannelProperty,
      nullable: true,
      description: 'The property that changed. Null for a property that only REST has.',
      resolve: ({ event }) => PROPERTIES.get(event.property) ?? null,
    }),
  }),
  {
    description: 'One property of a channel changed.',
    outdates: ({ event, facts }) => [
      ...outdatedOf('Channel', [facts.id], ['description', 'isArchived', 'permissions', PERMISSIONS]),
      ...(event.property === 'is_archived' ? [outdatedRoot('channels', 'subscriptions')] : []),
    ],
  },
);

eventType<{ default_streams: readonly number[] }>(
  'default_streams',
  undefined,
  'DefaultChannelsChangedEvent',
  (t) => ({
    channels: t.field({
      type: [Channel],
      nullable: { list: false, items: true },
      description: 'All default channels of new users.',
      ...projectedFromEvent(
        defaultChannel,
        ({ event }: EventSource<{ default_streams: readonly number[] }>) => event.default_streams,
      ),
    }),
  }),
  { description: 'The default channels of new users changed.', outdates: ['channels'] },
);
