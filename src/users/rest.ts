import { z } from 'zod';
import type { Ctx } from '../app.ts';
import type { User } from '../generated/prisma/client.ts';
import { lastReceivedByTurn } from '../message-flags/last-received.ts';
import { endpoint } from '../rest/endpoint.ts';
import { inPath, json, type Param, text } from '../rest/params.ts';
import { settingParam } from '../rest/setting-params.ts';
import {
  accessUser,
  accessUserByEmail,
  createUser as create,
  listUsers as list,
  type UserEdit,
  updateUser as update,
} from './service.ts';
import { USER_SETTING_NAMES, USER_SETTINGS, type UserSettingName } from './settings.ts';
import { updateSettings } from './settings-update.ts';
import { toWireUser } from './wire.ts';

const userReply = {
  user_id: z.int(),
  delivery_email: z.string().nullable(),
  email: z.string(),
  full_name: z.string(),
  date_joined: z.string(),
  is_active: z.boolean(),
  is_owner: z.boolean(),
  is_admin: z.boolean(),
  is_guest: z.boolean(),
  is_bot: z.boolean(),
  bot_type: z.int().nullable(),
  bot_owner_id: z.int().nullable(),
  role: z.int(),
  timezone: z.string(),
  avatar_url: z.string().nullable(),
  avatar_version: z.int(),
  is_imported_stub: z.boolean(),
  is_deleted: z.literal(true).optional(),
  profile_data: z.record(z.string(), z.object({ value: z.string(), rendered_value: z.string().optional() })).optional(),
};

const howShown = {
  client_gravatar: json(z.boolean(), {
    description: 'Whether `avatar_url` may be null where the client can work it out.',
  }).default(true),
  include_custom_profile_fields: json(z.boolean(), { description: 'Whether people have `profile_data`.' }).default(
    false,
  ),
};

interface HowShown {
  readonly client_gravatar: boolean;
  readonly include_custom_profile_fields: boolean;
}

const shown = (ctx: Ctx, user: User, { client_gravatar, include_custom_profile_fields }: HowShown) =>
  toWireUser(user, ctx.viewer, {
    clientGravatar: client_gravatar,
    includeProfileData: include_custom_profile_fields,
  });

/** B.12 */
export const listUsers = endpoint({
  method: 'GET',
  path: '/users',
  auth: 'basic',
  section: 'B.12',
  summary: 'List users',
  description: 'All people and bots of the organization by id, those deactivated included.',
  params: {
    ...howShown,
    user_ids: json(z.array(z.int()), { description: 'Only these.', example: '[1, 2]' }).optional(),
  },
  reply: { members: z.array(z.object(userReply)) },
  async handle(ctx, { user_ids, ...how }) {
    const users = await list(ctx, user_ids === undefined ? {} : { userIds: user_ids });
    return { members: users.map((user) => shown(ctx, user, how)) };
  },
});

/** B.12 */
export const getOwnUser = endpoint({
  method: 'GET',
  path: '/users/me',
  auth: 'basic',
  section: 'B.12',
  summary: 'Get your own user',
  description:
    'The fields of a user at the top level, and `max_message_id` (deprecated): the last message received, or -1.',
  params: {},
  reply: { ...userReply, max_message_id: z.int() },
  async handle({ app, viewer }) {
    const user = toWireUser(viewer.user, viewer, { clientGravatar: false, includeProfileData: true });
    return { ...user, max_message_id: await lastReceivedByTurn(app, viewer.id) };
  },
});

/** 4.5 */
export const getUser = endpoint({
  method: 'GET',
  path: '/users/{user_id}',
  auth: 'basic',
  section: '4.5',
  summary: 'Get a user',
  params: { user_id: inPath(z.int()), ...howShown },
  reply: { user: z.object(userReply) },
  async handle(ctx, { user_id, ...how }) {
    return { user: shown(ctx, await accessUser(ctx, user_id), how) };
  },
});

/** B.12 */
export const getUserByEmail = endpoint({
  method: 'GET',
  path: '/users/{email}',
  auth: 'basic',
  section: 'B.12',
  summary: 'Get a user by e-mail address',
  description: 'By the real address where you may see it, or by the API address.',
  params: { email: inPath(z.string()), ...howShown },
  reply: { user: z.object(userReply) },
  async handle(ctx, { email, ...how }) {
    return { user: shown(ctx, await accessUserByEmail(ctx, email), how) };
  },
});

/** B.12 */
export const createUser = endpoint({
  method: 'POST',
  path: '/users',
  auth: 'basic',
  section: 'B.12',
  summary: 'Create a user',
  permission: 'administrators whom the server operator gave the right to create users',
  params: {
    email: text(z.string(), { example: 'ada@example.com' }),
    password: text(z.string(), { description: '8 to 100 characters.', example: 'correct horse battery staple' }),
    full_name: text(z.string(), { example: 'Ada Lovelace' }),
  },
  reply: { user_id: z.int() },
  async handle(ctx, { email, password, full_name }) {
    const { id } = await create(ctx, { email, password, fullName: full_name });
    return { user_id: id };
  },
});

const edits = {
  full_name: text(z.string(), { description: 'A blank one is no change.', example: 'Ada Lovelace' }).optional(),
  role: json(z.int(), {
    description: '100 owner, 200 administrator, 300 moderator, 400 member, 600 guest.',
    example: '300',
  }).optional(),
};

const toEdit = ({ full_name, role }: { full_name?: string; role?: number }): UserEdit => ({
  ...(full_name !== undefined && { fullName: full_name }),
  ...(role !== undefined && { role }),
});

/** B.12 */
export const patchUser = endpoint({
  method: 'PATCH',
  path: '/users/{user_id}',
  auth: 'basic',
  section: 'B.12',
  summary: 'Update a user',
  permission: 'administrators; owners, where the owner role is given or taken',
  params: { user_id: inPath(z.int()), ...edits },
  reply: {},
  async handle(ctx, { user_id, ...edit }) {
    await update(ctx, user_id, toEdit(edit));
  },
});

/** B.12 */
export const patchUserByEmail = endpoint({
  method: 'PATCH',
  path: '/users/{email}',
  auth: 'basic',
  section: 'B.12',
  summary: 'Update a user by e-mail address',
  permission: 'administrators; owners, where the owner role is given or taken',
  params: { email: inPath(z.string()), ...edits },
  reply: {},
  async handle(ctx, { email, ...edit }) {
    await update(ctx, email, toEdit(edit));
  },
});

const settingParams = Object.fromEntries(
  USER_SETTING_NAMES.map((name) => [name, settingParam(USER_SETTINGS[name])]),
) as Record<UserSettingName, Param<unknown, 'optional'>>;

/** B.13 */
export const patchSettings = endpoint({
  method: 'PATCH',
  path: '/settings',
  auth: 'basic',
  section: 'B.13',
  summary: 'Update your settings',
  permission: 'people, not bots',
  params: {
    full_name: text(z.string(), {
      description: 'Passed over where only administrators may change names.',
      example: 'Ada Lovelace',
    }).optional(),
    ...settingParams,
  },
  reply: {},
  async handle(ctx, { full_name, ...settings }) {
    await updateSettings(ctx, { fullName: full_name, settings });
  },
});
