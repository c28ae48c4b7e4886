import { z } from 'zod';
import { documentEvent } from '../events/wire.ts';
import {
  channelsCreated,
  channelsDeleted,
  channelUpdated,
  defaultChannelsChanged,
  peersAdded,
  peersRemoved,
  subscriptionsAdded,
  subscriptionsRemoved,
  subscriptionUpdated,
} from './events.ts';
import { wireChannel, wireSubscription } from './wire.ts';

// Recipients and fields of the channel and subscription events.

const SEEING = 'users who can see the channel';
const OTHERS = 'other users who can see the channel';

documentEvent(channelsCreated, 'users who can see the channels from now on', { streams: z.array(wireChannel) });
documentEvent(channelsDeleted, 'users who can no longer see the channels', {
  streams: z.array(z.strictObject({ stream_id: z.int() })),
  stream_ids: z.array(z.int()),
});
documentEvent(channelUpdated, SEEING, {
  stream_id: z.int(),
  name: z.string().describe('Name before the change.'),
  property: z.string(),
  value: z.unknown(),
  rendered_description: z.string().optional().describe('Only if `property` is "description".'),
  history_public_to_subscribers: z.boolean().optional().describe('Only if `property` is "invite_only".'),
  is_web_public: z.boolean().optional().describe('Only if `property` is "invite_only".'),
});
documentEvent(defaultChannelsChanged, 'users who can see public channels', { default_streams: z.array(z.int()) });
documentEvent(subscriptionsAdded, 'the new subscribers, each with their own subscriptions', {
  subscriptions: z.array(wireSubscription),
});
documentEvent(subscriptionsRemoved, 'the former subscribers, each with their own subscriptions', {
  subscriptions: z.array(z.strictObject({ stream_id: z.int(), name: z.string() })),
});
documentEvent(subscriptionUpdated, 'the subscriber', {
  stream_id: z.int(),
  property: z.string(),
  value: z.union([z.boolean(), z.string()]),
});
for (const event of [peersAdded, peersRemoved]) {
  documentEvent(event, OTHERS, { stream_ids: z.array(z.int()), user_ids: z.array(z.int()) });
}
