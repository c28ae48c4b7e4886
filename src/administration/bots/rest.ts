import { z } from 'zod';
import { apiEmail } from '../../access/address.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file, inPath, json, text } from '../../api/rest/params.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { GENERIC_BOT } from '../../people/bot-types.ts';
import { avatarUrl } from '../../people/wire.ts';
import { KEY_SCOPES } from '../../platform/key-scopes.ts';
import { ROLES_MEANING } from '../../platform/roles.ts';
import { channelNames, toWireDefaults, wireDefaults } from '../bot-wire.ts';
import { CURRENT_PASSWORD, RECENT_SIGN_IN } from '../sign-in/proof.ts';
import type { DefaultsEdit } from './defaults.ts';
import { readBotKey, regenerateBotKey, regenerateOwnKey } from './keys.ts';
import { createBot, deactivateBot, listOwnBots, updateBot } from './service.ts';

const currentPassword = text(z.string(), { description: CURRENT_PASSWORD }).optional();

const IMAGE = 'PNG, JPEG, WebP or GIF, at most 5 MiB.';

const defaultParams = {
  default_sending_stream: text(z.string(), {
    description:
      'Name of the channel to which the program of the bot sends by default. The service only stores it. "" for none.',
  }).optional(),
  default_events_register_stream: text(z.string(), {
    description:
      'Name of the channel whose messages the event queues of the bot receive, unless a queue sets its own narrow. ' +
      '"" for none.',
  }).optional(),
  default_all_public_streams: json(z.boolean(), {
    description:
      "Whether the bot's event queues receive messages of all public channels, unless a queue sets its own value.",
  }).optional(),
};

interface SentDefaults {
  readonly default_sending_stream?: string | undefined;
  readonly default_events_register_stream?: string | undefined;
  readonly default_all_public_streams?: boolean | undefined;
}

const toDefaults = (sent: SentDefaults): DefaultsEdit => ({
  sendingChannel: toKey(sent.default_sending_stream),
  eventsChannel: toKey(sent.default_events_register_stream),
  allPublicChannels: sent.default_all_public_streams,
});

const toKey = (name: string | undefined): ChannelKey | null | undefined =>
  name === undefined ? undefined : name.trim() === '' ? null : { name };

export const getBots = endpoint({
  method: 'GET',
  path: '/bots',
  auth: 'basic',
  equivalents: ['ownBots', 'User.bot'],
  scope: KEY_SCOPES,
  summary: 'List your bots',
  description: `Your active bots with their API keys, oldest first. ${RECENT_SIGN_IN}`,
  permission: 'all users except guests',
  params: {},
  reply: {
    bots: z.array(
      z.object({
        username: z.string(),
        full_name: z.string(),
        api_key: z.string(),
        avatar_url: z.string(),
        ...wireDefaults.shape,
      }),
    ),
  },
  async handle(ctx) {
    const bots = await listOwnBots(ctx);
    const nameOf = await channelNames(
      ctx.work.db,
      ctx.organizationId,
      bots.map(({ bot }) => bot),
    );
    return {
      bots: bots.map(({ bot, apiKey }) => ({
        username: apiEmail(bot),
        full_name: bot.fullName,
        api_key: apiKey,
        avatar_url: avatarUrl(bot),
        ...toWireDefaults(bot, nameOf),
      })),
    };
  },
});

export const postBot = endpoint({
  method: 'POST',
  path: '/bots',
  auth: 'basic',
  equivalents: ['createBot'],
  scope: KEY_SCOPES,
  summary: 'Create a bot',
  description:
    'A new bot is subscribed to no channel, so its queues receive direct messages only. Next step: subscribe it ' +
    'with `POST /users/me/subscriptions`, either as the bot, or as its owner with the `user_id` of the bot in ' +
    '`principals`. The bot authenticates with `email` and `api_key`.',
  permission: 'users with the permission to create bots',
  // Not stored under an idempotency key, because the response contains an API key.
  ignoresIdempotencyKey: true,
  params: {
    full_name: text(z.string(), { description: 'Full name of the bot, at most 100 characters.', example: 'Build Bot' }),
    short_name: text(z.string(), { description: "Start of the bot's email address, before `-bot`.", example: 'build' }),
    bot_type: json(z.int(), { description: '1 (generic) is the only supported type.' }).default(GENERIC_BOT),
    ...defaultParams,
    file: file({ description: `Avatar of the bot: ${IMAGE}` }).optional(),
    current_password: currentPassword,
  },
  reply: {
    user_id: z.int(),
    email: z.string().describe("The bot's email address, with which it authenticates."),
    api_key: z.string(),
    avatar_url: z.string(),
    ...wireDefaults.shape,
  },
  async handle(ctx, { full_name, short_name, bot_type, file, current_password, ...defaults }) {
    const { user, apiKey, nameOf } = await createBot(ctx, {
      fullName: full_name,
      shortName: short_name,
      type: bot_type,
      avatar: file,
      defaults: toDefaults(defaults),
      currentPassword: current_password,
    });
    return {
      user_id: user.id,
      email: apiEmail(user),
      api_key: apiKey,
      avatar_url: avatarUrl(user),
      ...toWireDefaults(user, nameOf),
    };
  },
});

export const patchBot = endpoint({
  method: 'PATCH',
  path: '/bots/{bot_id}',
  auth: 'basic',
  equivalents: ['updateBot'],
  scope: 'administration',
  summary: 'Update a bot',
  permission: "the bot's owner and administrators; only administrators can change its role",
  params: {
    bot_id: inPath(z.int(), { description: 'Id of the bot.' }),
    full_name: text(z.string(), {
      description: 'Full name of the bot, at most 100 characters.',
      example: 'Build Bot',
    }).optional(),
    role: json(z.int(), {
      description: ROLES_MEANING,
    }).optional(),
    bot_owner_id: json(z.int(), { description: 'Id of the new owner.' }).optional(),
    current_password: text(z.string(), {
      description: `Used with \`role\` and \`bot_owner_id\`. ${CURRENT_PASSWORD}`,
    }).optional(),
    ...defaultParams,
    file: file({ description: `Avatar of the bot: ${IMAGE}` }).optional(),
  },
  reply: { full_name: z.string(), avatar_url: z.string(), bot_owner: z.string().optional(), ...wireDefaults.shape },
  async handle(ctx, { bot_id, full_name, role, bot_owner_id, current_password, file, ...defaults }) {
    const { bot, owner, nameOf } = await updateBot(ctx, bot_id, {
      fullName: full_name,
      role,
      ownerId: bot_owner_id,
      avatar: file,
      currentPassword: current_password,
      defaults: toDefaults(defaults),
    });
    return {
      full_name: bot.fullName,
      avatar_url: avatarUrl(bot),
      ...toWireDefaults(bot, nameOf),
      ...(owner !== null && { bot_owner: apiEmail(owner) }),
    };
  },
});

export const deleteBot = endpoint({
  method: 'DELETE',
  path: '/bots/{bot_id}',
  auth: 'basic',
  equivalents: ['deactivateBot'],
  scope: 'administration',
  summary: 'Deactivate a bot',
  permission: "the bot's owner and administrators",
  params: { bot_id: inPath(z.int(), { description: 'Id of the bot.' }) },
  reply: {},
  async handle(ctx, { bot_id }) {
    await deactivateBot(ctx, bot_id);
  },
});

export const getBotKey = endpoint({
  method: 'GET',
  path: '/bots/{bot_id}/api_key',
  auth: 'basic',
  equivalents: ['botApiKey'],
  scope: KEY_SCOPES,
  summary: "Get a bot's API key",
  description: RECENT_SIGN_IN,
  permission: "the bot's owner and administrators",
  params: { bot_id: inPath(z.int(), { description: 'Id of the bot.' }) },
  reply: { api_key: z.string() },
  async handle(ctx, { bot_id }) {
    return { api_key: await readBotKey(ctx, bot_id) };
  },
});

export const postBotKey = endpoint({
  method: 'POST',
  path: '/bots/{bot_id}/api_key/regenerate',
  auth: 'basic',
  equivalents: ['regenerateApiKey(botId:)'],
  scope: KEY_SCOPES,
  summary: "Replace a bot's API key",
  description: 'The old key becomes invalid immediately.',
  permission: "the bot's owner and administrators",
  // Not stored under an idempotency key, because the response contains an API key.
  ignoresIdempotencyKey: true,
  params: { bot_id: inPath(z.int(), { description: 'Id of the bot.' }), current_password: currentPassword },
  reply: { api_key: z.string() },
  async handle(ctx, { bot_id, current_password }) {
    return { api_key: await regenerateBotKey(ctx, bot_id, current_password) };
  },
});

export const postOwnKey = endpoint({
  method: 'POST',
  path: '/users/me/api_key/regenerate',
  auth: 'basic',
  equivalents: ['regenerateApiKey'],
  scope: KEY_SCOPES,
  summary: 'Replace your API key',
  description: 'The old key becomes invalid immediately.',
  // Not stored under an idempotency key, because the response contains an API key.
  ignoresIdempotencyKey: true,
  params: { current_password: currentPassword },
  reply: { api_key: z.string() },
  async handle(ctx, { current_password }) {
    return { api_key: await regenerateOwnKey(ctx, current_password) };
  },
});
