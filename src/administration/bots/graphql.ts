import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { requireMember } from '../../access/roles.ts';
import { builder } from '../../api/graphql/builder.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeType, unlessAbsent } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { byKeyIfAny } from '../../api/graphql/together.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import type { User as UserRow } from '../../generated/prisma/client.ts';
import { BY_ID, SORTED, User, UserConnection, UserOrder, UserRole, usersPage } from '../../people/graphql.ts';
import { BadRequestError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { administersBot } from './administers.ts';
import type { DefaultsEdit } from './defaults.ts';
import { factsAbout, lostBot } from './entity-facts.ts';
import type { KnownBot } from './events.ts';
import { readBotKey, regenerateBotKey, regenerateOwnKey } from './keys.ts';
import { administeredBots, createBot, deactivateBot, ownBots, updateBot } from './service.ts';

/** The API keys of bots, opened, by the bot's id: only for who may administer them. */
const keys = perOperation(
  (ctx) =>
    new DataLoader<number, string>(async (ids) => {
      const { app, realmId } = signedIn(ctx);
      const rows = await app.db.apiKey.findMany({ where: { realmId, userId: { in: [...ids] } } });
      const byUser = new Map(rows.map(({ userId, sealed }) => [userId, app.keys.open(sealed)]));
      return ids.map((id) => byUser.get(id) ?? new Error(`There is no key of user ${id}`));
    }),
);

type BotRow = Pick<UserRow, 'id' | 'defaultSendingChannelId' | 'defaultEventsChannelId' | 'defaultAllPublicChannels'>;

const HEARS = 'Whether its queues hear all public channels where they do not say.';
const SENDING = 'Kept for its program: where it sends when nothing else is said.';
const EVENTS = 'Whose messages its queues hear when they name none.';

const Bot = builder.objectRef<BotRow>('Bot');

builder.node(Bot, {
  description: 'What those who may administer a bot know of it.',
  // That of its user.
  id: { resolve: ({ id }) => id },
  fields: (t) => ({
    apiKey: t.string({
      description: 'The secret it signs in with. Not in an operation under an idempotency key, whose answer is kept.',
      resolve: ({ id }, _args, ctx) => {
        if (ctx.app.transaction !== undefined)
          throw new BadRequestError('Under an idempotency key no API key is answered with');
        return keys(ctx).load(id);
      },
    }),
    defaultSendingChannel: t.field({
      type: Channel,
      nullable: true,
      description: `${SENDING} Null for nowhere, and where the viewer does not see the channel.`,
      resolve: byKeyIfAny(visibleChannels, ({ defaultSendingChannelId: id }) => id),
    }),
    defaultEventsChannel: t.field({
      type: Channel,
      nullable: true,
      description: `${EVENTS} Null for none, and where the viewer does not see the channel.`,
      resolve: byKeyIfAny(visibleChannels, ({ defaultEventsChannelId: id }) => id),
    }),
    hearsAllPublicChannels: t.exposeBoolean('defaultAllPublicChannels', {
      description: HEARS,
    }),
  }),
});

nodeType('Bot', administeredBots);

builder.prismaObjectField(User, 'bot', (t) =>
  t.field({
    type: Bot,
    nullable: true,
    description:
      'More of a bot that the viewer may administer, as its owner or as an administrator; null for all others.',
    select: {
      id: true,
      botType: true,
      botOwnerId: true,
      role: true,
      isSystem: true,
      defaultSendingChannelId: true,
      defaultEventsChannelId: true,
      defaultAllPublicChannels: true,
    },
    resolve: (user, _args, ctx) => {
      const isBot = user.botType !== null && !user.isSystem;
      return isBot && administersBot(signedIn(ctx).viewer, user) ? user : null;
    },
  }),
);

builder.queryField('ownBots', (t) =>
  t.connection(
    {
      type: User,
      description: "The viewer's active bots. Not for guests.",
      args: { orderBy: t.arg({ type: UserOrder, required: false, defaultValue: BY_ID, description: SORTED }) },
      resolve: (_root, args, ctx, info) => {
        const request = signedIn(ctx);
        requireMember(request);
        return usersPage({ list: 'ownBots', filter: ownBots(request.viewer), args, ctx, info });
      },
    },
    UserConnection,
  ),
);

builder.queryField('botApiKey', (t) =>
  t.string({
    nullable: true,
    description: "A bot's API key, for its owner and administrators; null for others, and when there is no such bot.",
    args: { botId: t.arg.id({ ...refersTo('User'), description: 'Which bot.' }) },
    resolve: (_root, { botId }, ctx) => unlessAbsent(readBotKey(signedIn(ctx), botId)),
  }),
);

interface DefaultsInput {
  readonly defaultSendingChannelId?: number | null | undefined;
  readonly defaultEventsChannelId?: number | null | undefined;
  readonly hearsAllPublicChannels?: boolean | null | undefined;
}

const toKey = (id: number | null | undefined) => (id == null ? id : { id });

const toDefaults = (input: DefaultsInput): DefaultsEdit => ({
  sendingChannel: toKey(input.defaultSendingChannelId),
  eventsChannel: toKey(input.defaultEventsChannelId),
  allPublicChannels: input.hearsAllPublicChannels ?? undefined,
});

const FULL_NAME = 'What it is called; at most 100 characters.';
const IMAGE = 'Its image: PNG, JPEG, WebP or GIF, of 5 MiB at most.';

mutation('createBot', {
  description: "Makes a bot of the viewer's. For people whom the organization lets create bots.",
  // The reply may hold its key.
  ignoresIdempotencyKey: true,
  input: (t) => ({
    fullName: t.string({ description: FULL_NAME }),
    shortName: t.string({ description: 'Begins its address: <shortName>-bot@<domain>.' }),
    defaultSendingChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${SENDING} Nowhere, if absent.`,
    }),
    defaultEventsChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${EVENTS} None, if absent.`,
    }),
    hearsAllPublicChannels: t.boolean({ required: false, description: `${HEARS} False, if absent.` }),
    image: t.field({ type: 'File', required: false, description: IMAGE }),
  }),
  payload: () => ({ user: { type: User, description: 'The new bot.' } }),
  errors: [UnauthorizedPrincipalError, BadImageError],
  resolve: async (ctx, { fullName, shortName, image, ...defaults }) => {
    const bot = { fullName, shortName, avatar: image ?? undefined, defaults: toDefaults(defaults) };
    return { user: (await createBot(ctx, bot)).user };
  },
});

mutation('updateBot', {
  description: 'Changes what is given of a bot. For its owner and administrators; its role, for administrators.',
  // The reply may hold its key.
  ignoresIdempotencyKey: true,
  input: (t) => ({
    botId: t.id({ ...refersTo('User'), description: 'Which bot to change.' }),
    fullName: t.string({ required: false, description: FULL_NAME }),
    role: t.field({ type: UserRole, required: false, description: 'What it may do.' }),
    ownerId: t.id({ ...refersTo('User'), required: false, description: 'To whom it is to belong.' }),
    defaultSendingChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${SENDING} Null is nowhere.`,
    }),
    defaultEventsChannelId: t.id({ ...refersTo('Channel'), required: false, description: `${EVENTS} Null is none.` }),
    hearsAllPublicChannels: t.boolean({ required: false, description: HEARS }),
    image: t.field({ type: 'File', required: false, description: IMAGE }),
  }),
  payload: () => ({ user: { type: User, description: 'The bot, after the change.' } }),
  errors: [UnauthorizedPrincipalError, BadImageError],
  resolve: async (ctx, { botId, fullName, role, ownerId, image, ...defaults }) => ({
    user: (
      await updateBot(ctx, botId, {
        fullName: fullName ?? undefined,
        role: role ?? undefined,
        ownerId: ownerId ?? undefined,
        avatar: image ?? undefined,
        defaults: toDefaults(defaults),
      })
    ).bot,
  }),
});

mutation('deactivateBot', {
  description: 'Deactivates a bot. For its owner and administrators.',
  input: (t) => ({ botId: t.id({ ...refersTo('User'), description: 'Which bot to deactivate.' }) }),
  payload: () => ({ user: { type: User, description: 'The bot, deactivated.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { botId }) => ({ user: await deactivateBot(ctx, botId) }),
});

mutation('regenerateApiKey', {
  description: 'Gives the viewer, or a bot they may administer, a new API key. The old one is void at once.',
  ignoresIdempotencyKey: true,
  input: (t) => ({
    botId: t.id({ ...refersTo('User'), required: false, description: 'Whose key to renew; the viewer, if absent.' }),
  }),
  payload: () => ({ apiKey: { type: 'String', description: 'The new key.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { botId }) => ({
    apiKey: botId == null ? await regenerateOwnKey(ctx) : await regenerateBotKey(ctx, botId),
  }),
});

interface BotBody {
  readonly user_id: number;
}

const BotSetting = builder.enumType('BotSetting', {
  description: 'What can be set of a bot.',
  values: {
    DEFAULT_SENDING_CHANNEL: { value: 'default_sending_stream', description: SENDING },
    DEFAULT_EVENTS_CHANNEL: { value: 'default_events_register_stream', description: EVENTS },
    HEARS_ALL_PUBLIC_CHANNELS: { value: 'default_all_public_streams', description: HEARS },
  } as const,
});

const SETTINGS = ['default_sending_stream', 'default_events_register_stream', 'default_all_public_streams'] as const;

/** The user of whom an event tells those who may administer it. */
const administered = fromEvent(factsAbout, ({ facts }: EventSource<unknown, KnownBot>) => facts);

eventType<unknown, KnownBot>(
  'realm_bot',
  'add',
  'BotAddedEvent',
  (t) => ({ user: t.field({ type: User, nullable: true, description: 'The bot.', ...administered }) }),
  { description: 'A bot is there that the viewer may administer, or they may from here on.' },
);

eventType<{ bot: BotBody }, KnownBot>(
  'realm_bot',
  'update',
  'BotUpdatedEvent',
  (t) => ({
    user: t.field({ type: User, nullable: true, description: 'The bot that changed.', ...administered }),
    botSetting: t.field({
      type: BotSetting,
      description: 'What changed of its `bot`.',
      resolve: ({ event }) => SETTINGS.find((name) => name in event.bot) ?? SETTINGS[0],
    }),
  }),
  { description: 'A setting of a bot changed, that those know who may administer it.' },
);

eventType<{ bot: BotBody }>(
  'realm_bot',
  'delete',
  'BotLostEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'The bot, whose `bot` is null from here on.',
      ...fromEvent(lostBot, ({ event }: EventSource<{ bot: BotBody }>) => event.bot.user_id),
    }),
  }),
  { description: 'The viewer may not administer the bot any more.' },
);
