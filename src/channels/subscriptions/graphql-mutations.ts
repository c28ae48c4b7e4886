import { builder } from '../../api/graphql/builder.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { nodesOf } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { byKey } from '../../api/graphql/together.ts';
import { User } from '../../people/graphql.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { ChannelRef } from '../channel-ref.ts';
import { CHANNEL_DESCRIPTION, Channel } from '../graphql.ts';
import { ChannelOptionsInput, toOptions } from '../graphql-mutations.ts';
import { visibleChannels } from '../loaders.ts';
import {
  AUDIBLE_SAID,
  ChannelSubscription,
  COLOR,
  DESKTOP_SAID,
  EMAIL_SAID,
  MUTED,
  PINNED,
  PUSH_SAID,
  WILDCARD_SAID,
} from './graphql.ts';
import { updateSubscriptionSettings } from './subscription-settings.ts';
import { type ChannelOutcome, subscribe, unsubscribe } from './subscriptions.ts';

const SubscribeChannelInput = builder.inputType('SubscribeChannelInput', {
  description: 'A channel to subscribe to.',
  fields: (t) => ({
    channel: t.field({
      type: ChannelRef,
      description: 'Which channel. A name that no channel has, of at most 60 characters, makes a new one.',
    }),
    description: t.string({ required: false, description: `Of a new channel. ${CHANNEL_DESCRIPTION}` }),
    color: t.string({ required: false, description: `${COLOR} If absent, the former one or one not used yet.` }),
  }),
});

const OUTCOME_CHANNEL = "The channel; null when the change put it out of the viewer's sight.";
const NAMED = 'No more than were named.';

const SubscribeOutcome = builder.objectRef<ChannelOutcome>('SubscribeOutcome').implement({
  description: 'What became of the subscriptions to one channel.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: OUTCOME_CHANNEL,
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    name: t.exposeString('name', { description: 'What the channel is called.' }),
    subscribed: t.field({
      type: [User],
      description: `Who was not subscribed before, and is. ${NAMED}`,
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'User', changedIds),
    }),
    alreadySubscribed: t.field({
      type: [User],
      description: `Who was subscribed before. ${NAMED}`,
      resolve: ({ unchangedIds }, _args, ctx) => nodesOf(ctx, 'User', unchangedIds),
    }),
  }),
});

const UnsubscribeOutcome = builder.objectRef<ChannelOutcome>('UnsubscribeOutcome').implement({
  description: 'What became of the subscriptions to one channel.',
  fields: (t) => ({
    channel: t.field({
      type: Channel,
      nullable: true,
      description: OUTCOME_CHANNEL,
      resolve: byKey(visibleChannels, ({ channelId }) => channelId),
    }),
    name: t.exposeString('name', { description: 'What the channel is called.' }),
    unsubscribed: t.field({
      type: [User],
      description: `Who was subscribed before, and is no more. ${NAMED}`,
      resolve: ({ changedIds }, _args, ctx) => nodesOf(ctx, 'User', changedIds),
    }),
    notSubscribed: t.field({
      type: [User],
      description: `Who was not subscribed before. ${NAMED}`,
      resolve: ({ unchangedIds }, _args, ctx) => nodesOf(ctx, 'User', unchangedIds),
    }),
  }),
});

const PRINCIPALS = 'Whom it is about; the viewer, if absent.';
const OUTCOMES = 'One for each channel.';

mutation('subscribe', {
  description: 'Subscribes the viewer, or others, to channels; to all of them or, when one is refused, to none.',
  input: (t) => ({
    channels: t.field({ type: [SubscribeChannelInput], description: 'What to subscribe to.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: PRINCIPALS }),
    skipUnauthorized: t.boolean({
      required: false,
      defaultValue: false,
      description: 'Leaves out channels the viewer may not subscribe to, instead of refusing all.',
    }),
    newChannels: t.field({
      type: ChannelOptionsInput,
      required: false,
      description: 'How channels are to be that are made because nobody has the name; usual ones, if absent.',
    }),
  }),
  payload: () => ({
    outcomes: { type: [SubscribeOutcome], description: OUTCOMES },
    unauthorized: { type: ['String'], description: 'Names of the channels left out; no more than were named.' },
  }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { channels, userIds, skipUnauthorized, newChannels }) => {
    const wanted = channels.map(({ channel, color, description }) => ({
      ...channel,
      ...given({ color, description }),
    }));
    const { channels: outcomes, unauthorized } = await subscribe(ctx, wanted, {
      principals: userIds ?? undefined,
      isFatal: skipUnauthorized !== true,
      creation: newChannels == null ? {} : toOptions(newChannels),
    });
    return { outcomes: [...outcomes], unauthorized: [...unauthorized] };
  },
});

mutation('unsubscribe', {
  description:
    'Unsubscribes the viewer, or others, from channels; from all of them or, when one is refused, from none.',
  input: (t) => ({
    channels: t.field({ type: [ChannelRef], description: 'What to unsubscribe from.' }),
    userIds: t.idList({ ...refersTo('User'), required: false, description: PRINCIPALS }),
  }),
  payload: () => ({ outcomes: { type: [UnsubscribeOutcome], description: OUTCOMES } }),
  resolve: async (ctx, { channels, userIds }) => ({
    outcomes: await unsubscribe(ctx, channels, { principals: userIds ?? undefined }),
  }),
});

/** The settings of a subscription and their names on the wire. */
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
  description: "Settings of one of the viewer's subscriptions. What is left out stays.",
  fields: (t) => ({
    channelId: t.id({ ...refersTo('Channel'), description: 'The channel of the subscription.' }),
    color: t.string({ required: false, description: COLOR }),
    isMuted: t.boolean({ required: false, description: MUTED }),
    pinToTop: t.boolean({ required: false, description: PINNED }),
    desktopNotifications: t.boolean({ required: false, description: `${DESKTOP_SAID}.` }),
    audibleNotifications: t.boolean({ required: false, description: `${AUDIBLE_SAID}.` }),
    pushNotifications: t.boolean({ required: false, description: `${PUSH_SAID}.` }),
    emailNotifications: t.boolean({ required: false, description: `${EMAIL_SAID}.` }),
    wildcardMentionsNotify: t.boolean({ required: false, description: `${WILDCARD_SAID}.` }),
  }),
});

mutation('updateSubscriptionSettings', {
  description: "Changes settings of the viewer's subscriptions; all of them or, when one is refused, none.",
  input: (t) => ({
    subscriptions: t.field({ type: [SubscriptionSettingsInput], description: 'What to change, for each channel.' }),
  }),
  payload: () => ({
    subscriptions: { type: [ChannelSubscription], description: 'One for each that was named, in the order given.' },
  }),
  resolve: async (ctx, { subscriptions }) => {
    const changes = subscriptions.flatMap(({ channelId, ...settings }) =>
      Object.entries(given(settings)).map(([name, value]) => {
        const property = SETTINGS[name as keyof typeof SETTINGS];
        return { channelId, property, value };
      }),
    );
    return { subscriptions: [...(await updateSubscriptionSettings(ctx, changes))] };
  },
});
