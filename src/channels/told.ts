import { z } from 'zod';
import { tells } from '../events/wire.ts';
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

// What is told of channels and subscriptions, and to whom.

const SEEING = 'everyone who sees the channel';
const OTHERS = 'the others who see the channel';

tells(channelsCreated, 'everyone who sees the channels from here on', { streams: z.array(wireChannel) });
tells(channelsDeleted, 'everyone who does not see the channels any more', {
  streams: z.array(z.strictObject({ stream_id: z.int() })),
  stream_ids: z.array(z.int()),
});
tells(channelUpdated, SEEING, {
  stream_id: z.int(),
  name: z.string().describe('Before the change.'),
  property: z.string(),
  value: z.unknown(),
  rendered_description: z.string().optional().describe('With a new `description`.'),
  history_public_to_subscribers: z.boolean().optional().describe('With `invite_only`.'),
  is_web_public: z.boolean().optional().describe('With `invite_only`.'),
});
tells(defaultChannelsChanged, 'everyone who may see public channels', { default_streams: z.array(z.int()) });
tells(subscriptionsAdded, 'those who are subscribed, each of their own', { subscriptions: z.array(wireSubscription) });
tells(subscriptionsRemoved, 'those who are subscribed no more, each of their own', {
  subscriptions: z.array(z.strictObject({ stream_id: z.int(), name: z.string() })),
});
tells(subscriptionUpdated, 'the subscriber', {
  stream_id: z.int(),
  property: z.string(),
  value: z.union([z.boolean(), z.string()]),
});
for (const event of [peersAdded, peersRemoved]) {
  tells(event, OTHERS, { stream_ids: z.array(z.int()), user_ids: z.array(z.int()) });
}
