import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import type { User } from '../../generated/prisma/client.ts';
import { missingScopes } from '../../platform/key-scopes.ts';
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
  equivalents: ['recordPresence'],
  summary: 'Report your presence',
  description:
    'The response contains the presence of other users, unless `ping_only` is set or the API key lacks the scope `read`. ' +
    'They are listed by user id if ' +
    '`last_update_id` or `slim_presence` is given, otherwise by API email address.',
  permission: 'all users except bots',
  params: {
    status: text(z.string(), { description: '"active" or "idle".', example: 'active' }),
    last_update_id: json(z.int(), {
      description:
        '`presence_last_update_id` of the last response. The response contains only later changes. -1 for all.',
      example: '-1',
    }).optional(),
    history_limit_days: json(z.int().min(0), {
      description: 'Maximum age of the listed presences, in days. Default: 14.',
    }).optional(),
    new_user_input: json(z.boolean(), { description: 'Accepted but ignored.' }).default(false),
    ping_only: json(z.boolean(), { description: 'Whether to leave out the presence of other users.' }).default(false),
    slim_presence: json(z.boolean(), {
      description: 'Whether to list users by id, even without `last_update_id`.',
    }).default(false),
  },
  reply: {
    presence_last_update_id: z.int().optional(),
    server_timestamp: z.number().optional(),
    presences: z.record(z.string(), z.union([wirePresence, wireLegacyPresence])).optional(),
  },
  async handle(ctx, { status, ping_only, slim_presence, ...query }) {
    const { last_update_id: newerThan, history_limit_days: historyDays } = query;
    await recordPresence(ctx, status);
    if (ping_only || missingScopes(ctx.viewer.credential, 'read').length > 0) return {};
    const now = ctx.app.now();
    const answer = await readPresences(ctx.work.db, ctx.viewer.organization, { newerThan, historyDays }, now);
    return {
      presence_last_update_id: answer.lastUpdateId,
      server_timestamp: now.getTime() / 1000,
      // A client that sends neither parameter is an old client, which identifies users by email address.
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
      website: { status, timestamp },
      aggregated: { status: statusAt(presence, now), timestamp },
    },
    server_timestamp: now.getTime() / 1000,
  };
}

const presenceOfOne = {
  presence: z.object({ website: legacyStatus, aggregated: legacyStatus }),
  server_timestamp: z.number(),
};

export const getPresence = endpoint({
  method: 'GET',
  path: '/users/{user_id}/presence',
  auth: 'basic',
  equivalents: ['User.presence'],
  summary: "Get a user's presence",
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }) },
  reply: presenceOfOne,
  handle: async (ctx, { user_id }) => presenceReply(ctx, await accessUser(ctx, user_id), user_id),
});

export const getPresenceByEmail = endpoint({
  method: 'GET',
  path: '/users/{email}/presence',
  auth: 'basic',
  equivalents: ['User.presence'],
  summary: "Get a user's presence by email address",
  description: 'The real email address if you can see it, or the API address.',
  params: {
    email: inPath(z.string(), {
      description: 'Email address of the user.',
      example: 'bela@example.com',
    }),
  },
  reply: presenceOfOne,
  handle: async (ctx, { email }) => presenceReply(ctx, await accessUserByEmail(ctx, email), email),
});

export const getOrganizationPresence = endpoint({
  method: 'GET',
  path: '/realm/presence',
  auth: 'basic',
  equivalents: ['presences'],
  summary: 'Get the presence of all users',
  description: 'In the format of old clients: by API email address, users who were present in the last 14 days.',
  params: {},
  reply: {
    server_timestamp: z.number(),
    presences: z.record(z.string(), wireLegacyPresence),
  },
  async handle({ app, work, viewer: { organization } }) {
    const now = app.now();
    const { presences } = await readPresences(work.db, organization, {}, now);
    return { server_timestamp: now.getTime() / 1000, presences: presencesByEmail(presences) };
  },
});
