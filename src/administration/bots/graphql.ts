import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { requireMember } from '../../access/roles.ts';
import { byKeyIfAny } from '../../api/graphql/loading/batch-resolvers.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeType, unlessAbsent } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { UserRole } from '../../api/graphql/schema/user-role.ts';
import { Channel } from '../../channels/graphql.ts';
import { visibleChannels } from '../../channels/loaders.ts';
import type { User as UserRow } from '../../generated/prisma/client.ts';
import { BY_ID, SORTED, User, UserConnection, UserOrder, usersPage } from '../../people/graphql.ts';
import { ValidationError } from '../../platform/errors.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { KEY_SCOPES } from '../../platform/key-scopes.ts';
import { administersBot } from '../bot-administrators.ts';
import type { ProjectedBot } from '../bot-events.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD, RECENT_SIGN_IN, requireLastingKey, requireRecentSignIn } from '../sign-in/proof.ts';
import type { DefaultsEdit } from './defaults.ts';
import { lostBot, projectionOf } from './event-projections.ts';
import { auditReadKeys, readBotKey, regenerateBotKey, regenerateOwnKey } from './keys.ts';
import { administeredBots, createBot, deactivateBot, ownBots, updateBot } from './service.ts';

type KeyOwner = Pick<UserRow, 'id' | 'botOwnerId'>;
const BY_BOT = { cacheKeyFn: ({ id }: KeyOwner) => id };

/**
 * Loads the decrypted API keys of bots, and writes entries to the audit log. The caller must have checked that the viewer can
 * administer the bots.
 */
const keys = perOperation(
  (ctx) =>
    new DataLoader<KeyOwner, string, number>(async (bots) => {
      const { app, work, organizationId } = signedIn(ctx);
      const ids = bots.map(({ id }) => id);
      await auditReadKeys(signedIn(ctx), bots);
      const rows = await work.db.apiKey.findMany({ where: { organizationId, userId: { in: [...ids] } } });
      const byUser = new Map(rows.map(({ userId, sealed }) => [userId, app.keys.open(sealed)]));
      return ids.map((id) => byUser.get(id) ?? new Error(`No API key of user ${id}`));
    }, BY_BOT),
);

type BotRow = Pick<
  UserRow,
  'id' | 'botOwnerId' | 'defaultSendingChannelId' | 'defaultEventsChannelId' | 'defaultAllPublicChannels'
>;

const HEARS =
  "Whether the bot's event queues receive messages of all public channels, unless a queue sets its own value.";
const SENDING = 'Channel to which the program of the bot sends by default. The service only stores it.';
const EVENTS = "Channel whose messages the bot's event queues receive, unless a queue sets its own filter (`narrow`).";

const Bot = builder.objectRef<BotRow>('Bot');

builder.node(Bot, {
  description: 'Properties of a bot that only users who can administer it can see.',
  // A `Bot` has the row id of its user.
  id: { resolve: ({ id }) => id },
  fields: (t) => ({
    apiKey: t.string({
      extensions: { scope: KEY_SCOPES },
      description:
        `API key with which the bot authenticates. ${RECENT_SIGN_IN} Not available in requests with an idempotency ` +
        'key, because their responses are stored.',
      resolve: ({ id, botOwnerId }, _args, ctx) => {
        requireLastingKey(signedIn(ctx));
        requireRecentSignIn(signedIn(ctx));
        if (ctx.work.transaction !== undefined)
          throw new ValidationError('API keys are not returned to requests with an idempotency key');
        return keys(ctx).load({ id, botOwnerId });
      },
    }),
    defaultSendingChannel: t.field({
      type: Channel,
      nullable: true,
      description: `${SENDING} Null if there is none, or if the viewer cannot see it.`,
      resolve: byKeyIfAny(visibleChannels, ({ defaultSendingChannelId: id }) => id),
    }),
    defaultEventsChannel: t.field({
      type: Channel,
      nullable: true,
      description: `${EVENTS} Null if there is none, or if the viewer cannot see it.`,
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
      'Properties of the bot that only its owner and administrators can see. Null for other viewers, or if the ' +
      'user is not a bot.',
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
      description: "The viewer's active bots. Not available to guests.",
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
    extensions: { scope: KEY_SCOPES },
    description: `API key of a bot. Null if the bot does not exist, or if the viewer cannot administer it. ${RECENT_SIGN_IN}`,
    args: { botId: t.arg.id({ ...refersTo('User'), description: 'Id of the bot.' }) },
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

const FULL_NAME = 'Full name of the bot, at most 100 characters.';
const IMAGE = 'Avatar of the bot: a PNG, JPEG, WebP or GIF file of at most 5 MiB.';

mutation('createBot', {
  scope: KEY_SCOPES,
  description:
    'Creates a bot that the viewer owns. For users with the permission to create bots. A new bot is subscribed to ' +
    'no channel, so its queues receive direct messages only. Next step: call `subscribe` with the bot in `userIds`.',
  // Not stored under an idempotency key, because the response may contain the bot's API key.
  ignoresIdempotencyKey: true,
  input: (t) => ({
    fullName: t.string({ description: FULL_NAME }),
    shortName: t.string({ description: "Start of the bot's email address, which is `<shortName>-bot@<domain>`." }),
    defaultSendingChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${SENDING} Default: none.`,
    }),
    defaultEventsChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${EVENTS} Default: none.`,
    }),
    hearsAllPublicChannels: t.boolean({ required: false, description: `${HEARS} Default: false.` }),
    image: t.field({ type: 'File', required: false, description: IMAGE }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ user: { type: User, description: 'The new bot.' } }),
  errors: [BadImageError, PasswordRequiredError],
  resolve: async (ctx, { fullName, shortName, image, currentPassword, ...defaults }) => {
    const bot = {
      ...{ fullName, shortName, avatar: image ?? undefined, defaults: toDefaults(defaults) },
      currentPassword: currentPassword ?? undefined,
    };
    return { user: (await createBot(ctx, bot)).user };
  },
});

mutation('updateBot', {
  scope: 'administration',
  description:
    'Updates a bot. Omitted fields do not change. For the owner of the bot and administrators. Only administrators can ' +
    'change its role.',
  // Not stored under an idempotency key, because the response may contain the bot's API key.
  ignoresIdempotencyKey: true,
  input: (t) => ({
    botId: t.id({ ...refersTo('User'), description: 'Id of the bot.' }),
    fullName: t.string({ required: false, description: FULL_NAME }),
    role: t.field({ type: UserRole, required: false, description: 'Role of the bot.' }),
    ownerId: t.id({ ...refersTo('User'), required: false, description: 'Id of the new owner.' }),
    defaultSendingChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${SENDING} Null removes it.`,
    }),
    defaultEventsChannelId: t.id({
      ...refersTo('Channel'),
      required: false,
      description: `${EVENTS} Null removes it.`,
    }),
    hearsAllPublicChannels: t.boolean({ required: false, description: HEARS }),
    image: t.field({ type: 'File', required: false, description: IMAGE }),
    currentPassword: t.string({
      required: false,
      description: `Used with \`role\` and \`ownerId\`. ${CURRENT_PASSWORD}`,
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The bot after the change.' } }),
  errors: [BadImageError, PasswordRequiredError],
  resolve: async (ctx, { botId, fullName, role, ownerId, image, currentPassword, ...defaults }) => ({
    user: (
      await updateBot(ctx, botId, {
        fullName: fullName ?? undefined,
        role: role ?? undefined,
        ownerId: ownerId ?? undefined,
        avatar: image ?? undefined,
        currentPassword: currentPassword ?? undefined,
        defaults: toDefaults(defaults),
      })
    ).bot,
  }),
});

mutation('deactivateBot', {
  scope: 'administration',
  description: 'Deactivates a bot. For the owner of the bot and administrators.',
  input: (t) => ({ botId: t.id({ ...refersTo('User'), description: 'Id of the bot.' }) }),
  payload: () => ({ user: { type: User, description: 'The deactivated bot.' } }),
  resolve: async (ctx, { botId }) => ({ user: await deactivateBot(ctx, botId) }),
});

mutation('regenerateApiKey', {
  scope: KEY_SCOPES,
  description:
    'Replaces the API key of the viewer, or of a bot that the viewer can administer. The old key becomes invalid ' +
    'immediately.',
  ignoresIdempotencyKey: true,
  input: (t) => ({
    botId: t.id({
      ...refersTo('User'),
      required: false,
      description: 'Id of the bot whose key is replaced. Default: the viewer.',
    }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ apiKey: { type: 'String', description: 'The new API key.' } }),
  errors: [PasswordRequiredError],
  resolve: async (ctx, { botId, currentPassword }) => {
    const password = currentPassword ?? undefined;
    return {
      apiKey: botId == null ? await regenerateOwnKey(ctx, password) : await regenerateBotKey(ctx, botId, password),
    };
  },
});

interface BotBody {
  readonly user_id: number;
}

const BotSetting = builder.enumType('BotSetting', {
  description: 'A setting of a bot.',
  values: {
    DEFAULT_SENDING_CHANNEL: { value: 'default_sending_stream', description: SENDING },
    DEFAULT_EVENTS_CHANNEL: { value: 'default_events_register_stream', description: EVENTS },
    HEARS_ALL_PUBLIC_CHANNELS: { value: 'default_all_public_streams', description: HEARS },
  } as const,
});

const SETTINGS = ['default_sending_stream', 'default_events_register_stream', 'default_all_public_streams'] as const;

/** Options of the event field `user`, which shows the bot that the event is about. */
const administered = projectedFromEvent(projectionOf, ({ facts }: EventSource<unknown, ProjectedBot>) => facts);

eventType<unknown, ProjectedBot>(
  'realm_bot',
  'add',
  'BotAddedEvent',
  (t) => ({ user: t.field({ type: User, nullable: true, description: 'The bot.', ...administered }) }),
  {
    description:
      'A bot was created that the viewer can administer, or the viewer became able to administer an existing bot.',
    outdates: ['ownBots'],
  },
);

eventType<{ bot: BotBody }, ProjectedBot>(
  'realm_bot',
  'update',
  'BotUpdatedEvent',
  (t) => ({
    user: t.field({ type: User, nullable: true, description: 'The bot that changed.', ...administered }),
    botSetting: t.field({
      type: BotSetting,
      description: 'The setting in the `bot` field that changed.',
      resolve: ({ event }) => SETTINGS.find((name) => name in event.bot) ?? SETTINGS[0],
    }),
  }),
  { description: 'A setting of a bot changed.' },
);

eventType<{ bot: BotBody }>(
  'realm_bot',
  'delete',
  'BotLostEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'The bot. Its `bot` field is null, because the viewer can no longer administer it.',
      ...projectedFromEvent(lostBot, ({ event }: EventSource<{ bot: BotBody }>) => event.bot.user_id),
    }),
  }),
  { description: 'The viewer can no longer administer the bot.', outdates: ['ownBots'] },
);
