import { z } from 'zod';
import { apiEmail } from '../../access/address.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { file, inPath, json, text } from '../../api/rest/params.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { GENERIC_BOT } from '../../people/bot-types.ts';
import { avatarUrl } from '../../people/wire.ts';
import { ROLES_MEANING } from '../../platform/roles.ts';
import type { DefaultsEdit } from './defaults.ts';
import { readBotKey, regenerateBotKey, regenerateOwnKey } from './keys.ts';
import { createBot, deactivateBot, listOwnBots, updateBot } from './service.ts';
import { channelNames, toWireDefaults, wireDefaults } from './wire.ts';

const IMAGE = 'PNG, JPEG, WebP or GIF, of 5 MiB at most.';

const defaultParams = {
  default_sending_stream: text(z.string(), {
    description: 'The name of a channel, kept for the program: where it sends when nothing else is said; "" for none.',
  }).optional(),
  default_events_register_stream: text(z.string(), {
    description: 'The name of the channel whose messages the bot\'s queues hear where they name none; "" for none.',
  }).optional(),
  default_all_public_streams: json(z.boolean(), {
    description: "Whether the bot's queues hear all public channels where they do not say.",
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
  twins: ['ownBots', 'User.bot'],
  summary: 'List your bots',
  description: 'Your own active bots with their keys, by the time they were made.',
  permission: 'members, not guests',
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
      ctx.app.db,
      ctx.realmId,
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
  twins: ['createBot'],
  summary: 'Create a bot',
  permission: 'people whom the organization lets create bots',
  // The reply holds a key.
  ignoresIdempotencyKey: true,
  params: {
    full_name: text(z.string(), { description: 'What it is called, in at most 100 characters.', example: 'Build Bot' }),
    short_name: text(z.string(), { description: 'Begins its address.', example: 'build' }),
    bot_type: json(z.int(), { description: '1, generic: the one type there is.' }).default(GENERIC_BOT),
    ...defaultParams,
    file: file({ description: `The image: ${IMAGE}` }).optional(),
  },
  reply: { user_id: z.int(), api_key: z.string(), avatar_url: z.string(), ...wireDefaults.shape },
  async handle(ctx, { full_name, short_name, bot_type, file, ...defaults }) {
    const { user, apiKey, nameOf } = await createBot(ctx, {
      fullName: full_name,
      shortName: short_name,
      type: bot_type,
      avatar: file,
      defaults: toDefaults(defaults),
    });
    return { user_id: user.id, api_key: apiKey, avatar_url: avatarUrl(user), ...toWireDefaults(user, nameOf) };
  },
});

export const patchBot = endpoint({
  method: 'PATCH',
  path: '/bots/{bot_id}',
  auth: 'basic',
  twins: ['updateBot'],
  summary: 'Update a bot',
  permission: "the bot's owner and administrators; administrators alone, for its role",
  params: {
    bot_id: inPath(z.int(), { description: 'The bot.' }),
    full_name: text(z.string(), {
      description: 'What it is called, in at most 100 characters.',
      example: 'Build Bot',
    }).optional(),
    role: json(z.int(), {
      description: ROLES_MEANING,
    }).optional(),
    bot_owner_id: json(z.int(), { description: 'Whose bot it is to be.' }).optional(),
    ...defaultParams,
    file: file({ description: `The image: ${IMAGE}` }).optional(),
  },
  reply: { full_name: z.string(), avatar_url: z.string(), bot_owner: z.string().optional(), ...wireDefaults.shape },
  async handle(ctx, { bot_id, full_name, role, bot_owner_id, file, ...defaults }) {
    const { bot, owner, nameOf } = await updateBot(ctx, bot_id, {
      fullName: full_name,
      role,
      ownerId: bot_owner_id,
      avatar: file,
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
  twins: ['deactivateBot'],
  summary: 'Deactivate a bot',
  permission: "the bot's owner and administrators",
  params: { bot_id: inPath(z.int(), { description: 'The bot.' }) },
  reply: {},
  async handle(ctx, { bot_id }) {
    await deactivateBot(ctx, bot_id);
  },
});

export const getBotKey = endpoint({
  method: 'GET',
  path: '/bots/{bot_id}/api_key',
  auth: 'basic',
  twins: ['botApiKey'],
  summary: "Get a bot's API key",
  permission: "the bot's owner and administrators",
  params: { bot_id: inPath(z.int(), { description: 'The bot.' }) },
  reply: { api_key: z.string() },
  async handle(ctx, { bot_id }) {
    return { api_key: await readBotKey(ctx, bot_id) };
  },
});

export const postBotKey = endpoint({
  method: 'POST',
  path: '/bots/{bot_id}/api_key/regenerate',
  auth: 'basic',
  twins: ['regenerateApiKey(botId:)'],
  summary: 'Give a bot a new API key',
  description: 'The old one is void at once.',
  permission: "the bot's owner and administrators",
  // The reply holds a key.
  ignoresIdempotencyKey: true,
  params: { bot_id: inPath(z.int(), { description: 'The bot.' }) },
  reply: { api_key: z.string() },
  async handle(ctx, { bot_id }) {
    return { api_key: await regenerateBotKey(ctx, bot_id) };
  },
});

export const postOwnKey = endpoint({
  method: 'POST',
  path: '/users/me/api_key/regenerate',
  auth: 'basic',
  twins: ['regenerateApiKey'],
  summary: 'Get a new API key',
  description: 'The old one is void at once.',
  // The reply holds a key.
  ignoresIdempotencyKey: true,
  params: {},
  reply: { api_key: z.string() },
  async handle(ctx) {
    return { api_key: await regenerateOwnKey(ctx) };
  },
});
