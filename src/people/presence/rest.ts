import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import type { User } from '../../generated/prisma/client.ts';
import { accessUser, accessUserByEmail } from '../users.ts';
import { accessPresence, readPresences } from './reads.ts';
import { recordPresence } from './service.ts';
import {
  presencesByEmail,
  presencesById,
  statusAt,
  toLegacyPresence,
  toWirePresence,
  wireLegacyPresence,
  wirePresence,
} from './wire.ts';

const legacyStatus = z.object({ status: z.string(), timestamp: z.int() });

export const postPresence = endpoint({
  method: 'POST',
  path: '/users/me/presence',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  twins: ['recordPresence'],
  summary: 'Tell that you are there',
  description:
    'The reply has who else is, unless `ping_only`: by user id with `last_update_id` or `slim_presence`, else by API address.',
  permission: 'people, not bots',
  params: {
    status: text(z.string(), { description: 'active or idle.', example: 'active' }),
    last_update_id: json(z.int(), {
      description: 'Of the last reply: only what has changed since. -1 for everything.',
      example: '-1',
    }).optional(),
    history_limit_days: json(z.int().min(0), {
      description: 'Leaves out who was not seen for longer; 14 when absent.',
    }).optional(),
    new_user_input: json(z.boolean(), { description: 'Taken, and of no effect.' }).default(false),
    ping_only: json(z.boolean(), { description: 'Whether to leave out who else is there.' }).default(false),
    slim_presence: json(z.boolean(), { description: 'Whether the reply is by user id in any case.' }).default(false),
  },
  reply: {
    presence_last_update_id: z.int().optional(),
    server_timestamp: z.number().optional(),
    presences: z.record(z.string(), z.union([wirePresence, wireLegacyPresence])).optional(),
  },
  async handle(ctx, { status, ping_only, slim_presence, ...query }) {
    const { last_update_id: newerThan, history_limit_days: historyDays } = query;
    await recordPresence(ctx, status);
    if (ping_only) return {};
    const now = ctx.app.now();
    const answer = await readPresences(ctx.app.db, ctx.viewer.realm, { newerThan, historyDays }, now);
    return {
      presence_last_update_id: answer.lastUpdateId,
      server_timestamp: now.getTime() / 1000,
      // Clients from before there was either know people by their addresses.
      presences:
        slim_presence || newerThan !== undefined ? presencesById(answer.presences) : presencesByEmail(answer.presences),
    };
  },
});

async function presenceReply(ctx: Ctx, user: User, named: number | string) {
  const presence = toWirePresence(await accessPresence(ctx, user, named));
  const now = ctx.app.now();
  const { status, timestamp } = toLegacyPresence(presence);
  return {
    presence: {
      ...presence,
      website: { status, timestamp },
      aggregated: { status: statusAt(presence, now), timestamp },
    },
    server_timestamp: now.getTime() / 1000,
  };
}

const presenceOfOne = {
  presence: wirePresence.extend({ website: legacyStatus, aggregated: legacyStatus }),
  server_timestamp: z.number(),
};

export const getPresence = endpoint({
  method: 'GET',
  path: '/users/{user_id}/presence',
  auth: 'basic',
  twins: ['User.presence'],
  summary: 'Get when a user was last there',
  params: { user_id: inPath(z.int(), { description: 'The user.' }) },
  reply: presenceOfOne,
  handle: async (ctx, { user_id }) => presenceReply(ctx, await accessUser(ctx, user_id), user_id),
});

export const getPresenceByEmail = endpoint({
  method: 'GET',
  path: '/users/{email}/presence',
  auth: 'basic',
  twins: ['User.presence'],
  summary: 'Get when a user was last there, by e-mail address',
  description: 'By the real address where you may see it, or by the API address.',
  params: {
    email: inPath(z.string(), {
      description: 'The user, by the address that others see.',
      example: 'bela@example.com',
    }),
  },
  reply: presenceOfOne,
  handle: async (ctx, { email }) => presenceReply(ctx, await accessUserByEmail(ctx, email), email),
});

export const getRealmPresence = endpoint({
  method: 'GET',
  path: '/realm/presence',
  auth: 'basic',
  twins: ['presences'],
  summary: 'Get when everybody was last there',
  description: 'In the form of old clients: by API address, those seen in the last 14 days.',
  params: {},
  reply: {
    server_timestamp: z.number(),
    presences: z.record(z.string(), wireLegacyPresence),
  },
  async handle({ app, viewer: { realm } }) {
    const now = app.now();
    const { presences } = await readPresences(app.db, realm, {}, now);
    return { server_timestamp: now.getTime() / 1000, presences: presencesByEmail(presences) };
  },
});
