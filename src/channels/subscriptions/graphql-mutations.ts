import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { given, mutation } from '../../api/graphql/schema/mutation.ts';
import { nodesOf } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { User } from '../../people/graphql.ts';
import { MAX_BULK_NEW_SUBSCRIPTION_MESSAGES } from '../../platform/limits.ts';
import { ChannelRef } from '../channel-ref.ts';
import { CHANNEL_DESCRIPTION, Channel } from '../graphql.ts';
import { ChannelOptionsInput, toOptions } from '../graphql-mutations.ts';
import { visibleChannels } from '../loaders.ts';
import { type ChannelOutcome, subscribe, unsubscribe } from '../subscribe.ts';
import { ChannelSubscription, SETTING_TEXTS } from './graphql.ts';
import { updateSubscriptionSettings } from './subscription-settings.ts';

const SubscribeChannelInput = builder.inputType('SubscribeChannelInput', {
  description: 'A channel to subscribe to.',
  fields: (t) => ({
    channel: t.field({
      type: ChannelRef,
      description:
        'The channel. If no channel has the name, it is created. The name of a new channel has at most 60 characters.',
    }),
    description: t.string({ required: false, description: `For a new channel. ${CHANNEL_DESCRIPTION}` }),
    color: t.string({
      required: false,
      description: `${SETTING_TEXTS.color} Default: the previous color of the subscription, or an unused one.`,
    }),
  }),
});

const OUTCOME_CHANNEL = 'The channel. Null if the change made it invisible to the viewer.';
const NAMED = 'Contains only users whom the request names, each at most once.';

const SubscribeOutcome = builder.objectRef<ChannelOutcome>('SubscribeOutcome').implement({
  description: 'Result of a subscription to one channel.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: OUTCOME_CHANNEL,
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    name: t.exposeString('name', { description: 'Name of the channel.' }),
    subscribed: t.field({
      type: [User],
      description: `Users who were not subscribed before. ${NAMED}`,
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'User', changedIds),
    }),
    alreadySubscribed: t.field({
      type: [User],
      description: `Users who were already subscribed. ${NAMED}`,
      resolve: ({ unchangedIds }, _args, ctx) => nodesOf(ctx, 'User', unchangedIds),
    }),
  }),
});

const UnsubscribeOutcome = builder.objectRef<ChannelOutcome>('UnsubscribeOutcome').implement({
  description: 'Result of unsubscribing from one channel.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: OUTCOME_CHANNEL,
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    name: t.exposeString('name', { description: 'Name of the channel.' }),
    unsubscribed: t.field({
      type: [User],
      description: `Users who were subscribed before. ${NAMED}`,
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'User', changedIds),
    }),
    notSubscribed: t.field({
      type: [User],
      description: `Users who were not subscribed. ${NAMED}`,
      resolve: ({ unchangedIds }, _args, ctx) => nodesOf(ctx, 'User', unchangedIds),
    }),
  }),
});

const PRINCIPALS = 'Ids of the users. Default: the viewer.';
const OUTCOMES = 'Results, one for each channel.';

mutation('subscribe', {
  description: 'Subscribes the viewer or other users to channels. If one subscription is refused, nothing changes.',
  input: (t) => ({
    channels: t.field({ type: [SubscribeChannelInput], description: 'The channels.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: PRINCIPALS }),
    skipUnauthorized: t.boolean({
      required: false,
      defaultValue: false,
      description: 'Whether to skip channels that the viewer cannot subscribe to, instead of refusing the request.',
    }),
    newChannels: t.field({
      type: ChannelOptionsInput,
      required: false,
      description: 'Properties of the channels that are created.',
    }),
    sendsMessages: t.boolean({
      required: false,
      defaultValue: true,
      description:
        'Whether the notification bot sends a direct message to each person whom the viewer subscribes to an existing ' +
        `channel. If \`userIds\` has more than ${MAX_BULK_NEW_SUBSCRIPTION_MESSAGES} users, none is sent.`,
    }),
  }),
  payload: () => ({
    outcomes: { type: [SubscribeOutcome], description: OUTCOMES },
    unauthorized: {
      type: ['String'],
      description: 'Names of the skipped channels, at most as many as `channels` has.',
    },
  }),
  resolve: async (ctx, { channels, userIds, skipUnauthorized, newChannels, sendsMessages }) => {
    const wanted = channels.map(({ channel, color, description }) => ({
      ...channel,
      ...given({ color, description }),
    }));
    const { channels: outcomes, unauthorized } = await subscribe(ctx, wanted, {
      principals: userIds ?? undefined,
      isFatal: skipUnauthorized !== true,
      creation: newChannels == null ? {} : toOptions(newChannels),
      sendsMessages: sendsMessages !== false,
    });
    return { outcomes: [...outcomes], unauthorized: [...unauthorized] };
  },
});

mutation('unsubscribe', {
  description: 'Unsubscribes the viewer or other users from channels. If one change is refused, nothing changes.',
  input: (t) => ({
    channels: t.field({ type: [ChannelRef], description: 'The channels.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: PRINCIPALS }),
  }),
  payload: () => ({ outcomes: { type: [UnsubscribeOutcome], description: OUTCOMES } }),
  resolve: async (ctx, { channels, userIds }) => ({
    outcomes: await unsubscribe(ctx, channels, { principals: userIds ?? undefined }),
  }),
});

/** The settings of a subscription, with their names on the wire. */
const SETTINGS = {
  color: 'color',
  isMuted: 'is_muted',
  pinToTop: 'pin_to_top',
  desktopNotifications: 'desktop_notifications',
  audibleNotifications: 'audible_notifications',
  pushNotifications: 'push_notifications',
  emailNotifications: 'email_notifications',
  wildcardMentionsNotify: 'wildcard_mentions_notify',
} as const;

const SubscriptionSettingsInput = builder.inputType('SubscriptionSettingsInput', {
  description: "Settings of one of the viewer's subscriptions. Omitted settings do not change.",
  fields: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'Id of the channel.' }),
    color: t.string({ required: false, description: SETTING_TEXTS.color }),
    isMuted: t.boolean({ required: false, description: SETTING_TEXTS.isMuted }),
    pinToTop: t.boolean({ required: false, description: SETTING_TEXTS.pinToTop }),
    desktopNotifications: t.boolean({ required: false, description: SETTING_TEXTS.desktopNotifications }),
    audibleNotifications: t.boolean({ required: false, description: SETTING_TEXTS.audibleNotifications }),
    pushNotifications: t.boolean({ required: false, description: SETTING_TEXTS.pushNotifications }),
    emailNotifications: t.boolean({ required: false, description: SETTING_TEXTS.emailNotifications }),
    wildcardMentionsNotify: t.boolean({ required: false, description: SETTING_TEXTS.wildcardMentionsNotify }),
  }),
});

mutation('updateSubscriptionSettings', {
  description: "Changes settings of the viewer's subscriptions. If one change is refused, nothing changes.",
  input: (t) => ({
    subscriptions: t.field({ type: [SubscriptionSettingsInput], description: 'The changes, one for each channel.' }),
  }),
  payload: () => ({
    subscriptions: {
      type: [ChannelSubscription],
      description: 'The changed subscriptions in the given order, one for each channel.',
    },
  }),
  resolve: async (ctx, { subscriptions }) => {
    const changes = subscriptions.flatMap(({ channelId, ...settings }, i) =>
      Object.entries(given(settings)).map(([name, value]) => {
        const property = SETTINGS[name as keyof typeof SETTINGS];
        return { channelId, property, value, place: `subscription_data[${i}]` };
      }),
    );
    return { subscriptions: [...(await updateSubscriptionSettings(ctx, changes))] };
  },
});
