import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { MAX_BULK_NEW_SUBSCRIPTION_MESSAGES } from '../../platform/limits.ts';
import { creationParams, flag, streamId, toOptions } from '../rest.ts';
import { type ChannelOutcome, editSubscriptions, type SubscribeOutcome, subscribe, unsubscribe } from '../subscribe.ts';
import { wireSubscription } from '../wire.ts';
import { channelIdsOfUser, isUserSubscribed, listSubscriptions } from './reads.ts';
import { updateSubscriptionSettings } from './subscription-settings.ts';

export const getSubscriptions = endpoint({
  method: 'GET',
  path: '/users/me/subscriptions',
  auth: 'basic',
  equivalents: ['subscriptions'],
  summary: 'List your subscriptions',
  params: {
    include_subscribers: text(z.enum(['true', 'false', 'partial']), {
      description:
        'Whether to include the `subscribers` of each channel. partial: for large channels, only some of the subscribers.',
    }).default('false'),
  },
  reply: { subscriptions: z.array(wireSubscription) },
  async handle(ctx, { include_subscribers }) {
    return { subscriptions: await listSubscriptions(ctx, include_subscribers) };
  },
});

const principals = json(z.union([z.array(z.int()), z.array(z.string())]), {
  description: 'Ids or email addresses of the users. Default: you.',
}).optional();

const wanted = z.object({ name: z.string(), description: z.string().optional(), color: z.string().optional() });

const subscribedReply = {
  subscribed: z.record(z.string(), z.array(z.string())),
  already_subscribed: z.record(z.string(), z.array(z.string())),
};

export const postSubscriptions = endpoint({
  method: 'POST',
  path: '/users/me/subscriptions',
  auth: 'basic',
  equivalents: ['subscribe'],
  summary: 'Subscribe to channels',
  description: 'Channels that do not exist are created.',
  params: {
    subscriptions: json(z.array(wanted), {
      description: 'The channels, by name. `color` is the color in which you see the channel.',
      example: '[{"name": "website"}]',
    }),
    principals,
    authorization_errors_fatal: flag(
      'Whether the request fails if you cannot subscribe to one of the channels. false skips such channels.',
      true,
    ),
    ...creationParams,
    send_new_subscription_messages: flag(
      `Whether the notification bot sends a direct message to each person whom you subscribe to an existing channel. If you ` +
        `subscribe more than ${MAX_BULK_NEW_SUBSCRIPTION_MESSAGES} users, none is sent.`,
      true,
    ),
  },
  reply: {
    ...subscribedReply,
    unauthorized: z.array(z.string()).optional(),
    new_subscription_messages_sent: z.boolean().optional(),
  },
  async handle(ctx, given) {
    const { subscriptions, principals, authorization_errors_fatal, send_new_subscription_messages, ...values } = given;
    const outcome = await subscribe(ctx, subscriptions, {
      principals,
      isFatal: authorization_errors_fatal,
      creation: toOptions(values),
      sendsMessages: send_new_subscription_messages,
    });
    return {
      ...toSubscribed(outcome),
      ...(!authorization_errors_fatal && { unauthorized: outcome.unauthorized }),
      ...(send_new_subscription_messages && { new_subscription_messages_sent: outcome.hasSentMessages }),
    };
  },
});

const names = json(z.array(z.string()), { description: 'Names of the channels.', example: '["website"]' });

export const patchSubscriptions = endpoint({
  method: 'PATCH',
  path: '/users/me/subscriptions',
  auth: 'basic',
  equivalents: ['subscribe', 'unsubscribe'],
  summary: 'Subscribe to some channels and unsubscribe from others',
  params: {
    add: json(z.array(wanted), { description: 'Channels to subscribe to, by name.' }).default([]),
    delete: json(z.array(z.string()), { description: 'Names of the channels to unsubscribe from.' }).default([]),
  },
  reply: { ...subscribedReply, removed: z.array(z.string()), not_removed: z.array(z.string()) },
  async handle(ctx, { add, delete: remove }) {
    const { subscribed, unsubscribed } = await editSubscriptions(ctx, {
      add,
      remove: remove.map((name) => ({ name })),
    });
    return { ...toSubscribed(subscribed), ...toRemoved(unsubscribed) };
  },
});

export const deleteSubscriptions = endpoint({
  method: 'DELETE',
  path: '/users/me/subscriptions',
  auth: 'basic',
  equivalents: ['unsubscribe'],
  summary: 'Unsubscribe from channels',
  params: { subscriptions: names, principals },
  reply: { removed: z.array(z.string()), not_removed: z.array(z.string()) },
  async handle(ctx, { subscriptions, principals }) {
    const keys = subscriptions.map((name) => ({ name }));
    return toRemoved(await unsubscribe(ctx, keys, { principals }));
  },
});

/** Converts the outcome of a subscribe request to the reply of the REST interface, which contains channel names by user id. */
function toSubscribed({ channels }: SubscribeOutcome) {
  const byUser = (idsOf: (channel: ChannelOutcome) => readonly number[]) => {
    const pairs = channels.flatMap((channel) => idsOf(channel).map((id) => ({ id, name: channel.name })));
    const grouped = Map.groupBy(pairs, ({ id }) => id);
    return Object.fromEntries([...grouped].map(([id, named]) => [id, named.map(({ name }) => name)]));
  };
  return {
    subscribed: byUser(({ changedIds }) => changedIds),
    already_subscribed: byUser(({ unchangedIds }) => unchangedIds),
  };
}

const toRemoved = (channels: readonly ChannelOutcome[]) => ({
  removed: channels.filter(({ changedIds }) => changedIds.length > 0).map(({ name }) => name),
  not_removed: channels.filter(({ unchangedIds }) => unchangedIds.length > 0).map(({ name }) => name),
});

const value = z.union([z.boolean(), z.string()]);

export const postSubscriptionProperties = endpoint({
  method: 'POST',
  path: '/users/me/subscriptions/properties',
  auth: 'basic',
  equivalents: ['updateSubscriptionSettings'],
  summary: 'Update settings of your subscriptions',
  params: {
    subscription_data: json(z.array(z.object({ stream_id: z.int(), property: z.string(), value })), {
      description:
        'The changes, each with channel, setting and value. `push_notifications` and `email_notifications` are ' +
        'stored, but have no effect yet.',
      example: '[{"stream_id": 1, "property": "pin_to_top", "value": true}]',
    }),
  },
  reply: {},
  async handle(ctx, { subscription_data }) {
    const changes = subscription_data.map(({ stream_id, ...change }, i) => ({
      channelId: stream_id,
      ...change,
      place: `subscription_data[${i}]`,
    }));
    await updateSubscriptionSettings(ctx, changes);
  },
});

/** A boolean or string. Both can be sent as JSON (`true`, `"text"`), and a string also without quotes (`text`). */
const looseValue = z.string().transform((raw): boolean | string => {
  if (raw === 'true' || raw === 'false') return raw === 'true';
  return /^"[^"\\]*"$/.test(raw) ? raw.slice(1, -1) : raw;
});

/** Returns an endpoint that changes one property of one subscription. Current clients send POST, old clients PATCH. */
const subscriptionProperty = (method: 'POST' | 'PATCH') =>
  endpoint({
    method,
    path: '/users/me/subscriptions/{stream_id}',
    auth: 'basic',
    equivalents: ['updateSubscriptionSettings'],
    summary: 'Update a setting of one of your subscriptions',
    params: {
      stream_id: streamId,
      property: text(z.string(), {
        description:
          'Name of the setting: `pin_to_top`, `is_muted`, `color`, …. `push_notifications` and ' +
          '`email_notifications` are stored, but have no effect yet.',
        example: 'pin_to_top',
      }),
      value: text(looseValue, {
        description: 'New value: a boolean or a text, depending on the setting.',
        example: 'true',
      }),
    },
    reply: {},
    async handle(ctx, { stream_id, ...change }) {
      await updateSubscriptionSettings(ctx, [{ channelId: stream_id, ...change }]);
    },
  });

export const postSubscriptionProperty = subscriptionProperty('POST');
export const patchSubscriptionProperty = subscriptionProperty('PATCH');

export const getUserSubscription = endpoint({
  method: 'GET',
  path: '/users/{user_id}/subscriptions/{stream_id}',
  auth: 'basic',
  equivalents: ['channels(isSubscribed:)', 'User.channels'],
  summary: 'Check whether a user is subscribed to a channel',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }), stream_id: streamId },
  reply: { is_subscribed: z.boolean() },
  async handle(ctx, { user_id, stream_id }) {
    return { is_subscribed: await isUserSubscribed(ctx, user_id, stream_id) };
  },
});

export const getUserChannels = endpoint({
  method: 'GET',
  path: '/users/{user_id}/channels',
  auth: 'basic',
  equivalents: ['User.channels'],
  summary: 'List the channels a user is subscribed to',
  description: 'Leaves out channels that you cannot see.',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }) },
  reply: { subscribed_channel_ids: z.array(z.int()).describe('Ids, ascending.') },
  async handle(ctx, { user_id }) {
    return { subscribed_channel_ids: await channelIdsOfUser(ctx, user_id) };
  },
});
