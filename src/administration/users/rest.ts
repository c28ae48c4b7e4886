import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import { USER_SETTING_NAMES, USER_SETTINGS, type UserSettingName } from '../../access/user-settings.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, type Param, text } from '../../api/rest/params.ts';
import { settingParam } from '../../api/rest/setting-params.ts';
import type { User } from '../../generated/prisma/client.ts';
import { lastReceivedByTurn } from '../../messages/flags/last-received.ts';
import { profileDataByTurn } from '../../people/profile-fields/by-turn.ts';
import { profileDataOf } from '../../people/profile-fields/values.ts';
import { accessUser, accessUserByEmail, listUsers as list } from '../../people/users.ts';
import { toWireUser, type WireUser, wireUser } from '../../people/wire.ts';
import { profileDataSent, toEntries } from '../../people/wire-profile-fields.ts';
import { UnsupportedParametersError } from '../../platform/errors.ts';
import { ROLES_MEANING } from '../../platform/roles.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { createUser as create, type UserEdit, updateUser as update } from './service.ts';
import { updateSettingsOf } from './settings-of-others.ts';
import { updateSettings } from './settings-update.ts';

const howShown = {
  client_gravatar: json(z.boolean(), {
    description: 'Accepted but ignored: `avatar_url` is always present.',
  }).default(true),
  include_custom_profile_fields: json(z.boolean(), { description: 'Whether to include `profile_data`.' }).default(
    false,
  ),
};

interface HowShown {
  readonly client_gravatar: boolean;
  readonly include_custom_profile_fields: boolean;
}

/**
 * Returns a function that converts each of `users` to wire format for the viewer. Includes the profile data if `how` requests
 * it.
 */
async function showing(ctx: Ctx, users: readonly User[], how: HowShown): Promise<(user: User) => WireUser> {
  const ids = users.map(({ id }) => id);
  const data = how.include_custom_profile_fields
    ? await profileDataOf(ctx.work.db, ctx.organizationId, ids)
    : undefined;
  return (user) =>
    toWireUser(user, ctx.viewer, {
      clientGravatar: how.client_gravatar,
      profileData: data && (data.get(user.id) ?? {}),
    });
}

async function showOne(ctx: Ctx, user: User, how: HowShown): Promise<WireUser> {
  return (await showing(ctx, [user], how))(user);
}

export const listUsers = endpoint({
  method: 'GET',
  path: '/users',
  auth: 'basic',
  equivalents: ['users'],
  summary: 'List users',
  description: 'All people and bots of the organization, including deactivated ones, ascending by id.',
  params: {
    ...howShown,
    user_ids: json(z.array(z.int()), {
      description: 'Ids of the users to list. Default: all.',
      example: '[1, 2]',
    }).optional(),
  },
  reply: { members: z.array(wireUser) },
  async handle(ctx, { user_ids, ...how }) {
    const users = await list(ctx, user_ids === undefined ? {} : { userIds: user_ids });
    return { members: users.map(await showing(ctx, users, how)) };
  },
});

export const getOwnUser = endpoint({
  method: 'GET',
  path: '/users/me',
  auth: 'basic',
  equivalents: ['viewer', 'User.profileData'],
  summary: 'Get your own user',
  description:
    'The response contains the fields of a user at the top level, and `max_message_id` (deprecated): the id of the ' +
    'last received message, or -1.',
  params: {},
  reply: { ...wireUser.shape, max_message_id: z.int() },
  async handle({ work, viewer }) {
    const [maxMessageId, profileData] = await Promise.all([
      lastReceivedByTurn(work.db, { organizationId: viewer.organization.id, userId: viewer.id }),
      profileDataByTurn(work.db, viewer.user),
    ]);
    return { ...toWireUser(viewer.user, viewer, { clientGravatar: false, profileData }), max_message_id: maxMessageId };
  },
});

export const getUser = endpoint({
  method: 'GET',
  path: '/users/{user_id}',
  auth: 'basic',
  equivalents: ['user(by:)', 'User.profileData'],
  summary: 'Get a user',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }), ...howShown },
  reply: { user: wireUser },
  async handle(ctx, { user_id, ...how }) {
    return { user: await showOne(ctx, await accessUser(ctx, user_id), how) };
  },
});

export const getUserByEmail = endpoint({
  method: 'GET',
  path: '/users/{email}',
  auth: 'basic',
  equivalents: ['user(by:)'],
  summary: 'Get a user by email address',
  description: 'The real email address if you can see it, or the API address.',
  params: {
    email: inPath(z.string(), {
      description: 'Email address of the user.',
      example: 'bela@example.com',
    }),
    ...howShown,
  },
  reply: { user: wireUser },
  async handle(ctx, { email, ...how }) {
    return { user: await showOne(ctx, await accessUserByEmail(ctx, email), how) };
  },
});

const currentPassword = text(z.string(), { description: CURRENT_PASSWORD }).optional();

export const createUser = endpoint({
  method: 'POST',
  path: '/users',
  auth: 'basic',
  equivalents: ['createUser'],
  scope: 'administration',
  summary: 'Create a user',
  permission: 'administrators to whom the operator gave the right to create users',
  params: {
    email: text(z.string(), { description: 'Email address of the user.', example: 'ada@example.com' }),
    password: text(z.string(), {
      description: 'Password, 8 to 100 characters.',
      example: 'correct horse battery staple',
    }),
    full_name: text(z.string(), {
      description: 'Full name, at most 100 characters.',
      example: 'Ada Lovelace',
    }),
    current_password: currentPassword,
  },
  reply: { user_id: z.int() },
  async handle(ctx, { email, password, full_name, current_password }) {
    const { id } = await create(ctx, { email, password, fullName: full_name, currentPassword: current_password });
    return { user_id: id };
  },
});

const edits = {
  full_name: text(z.string(), {
    description: 'Full name. A blank name is ignored.',
    example: 'Ada Lovelace',
  }).optional(),
  role: json(z.int(), {
    description: ROLES_MEANING,
    example: '300',
  }).optional(),
  new_email: text(z.string(), {
    description: 'New email address. For administrators to whom the operator gave the right to change email addresses.',
    example: 'ada@example.com',
  }).optional(),
  current_password: text(z.string(), {
    description: `Used with \`role\` and \`new_email\`. ${CURRENT_PASSWORD}`,
  }).optional(),
  profile_data: json(profileDataSent, {
    description:
      'Values of custom profile fields: a text, or a list of user ids for a field of users. null, "" or [] removes ' +
      'the value.',
    example: '[{"id": 1, "value": "at sea"}]',
  }).optional(),
};

interface Edits {
  readonly full_name?: string;
  readonly role?: number;
  readonly new_email?: string;
  readonly current_password?: string;
  readonly profile_data?: z.output<typeof profileDataSent>;
}

const toEdit = ({ full_name, role, new_email, current_password, profile_data }: Edits): UserEdit => ({
  ...(full_name !== undefined && { fullName: full_name }),
  ...(role !== undefined && { role }),
  ...(new_email !== undefined && { newEmail: new_email }),
  ...(current_password !== undefined && { currentPassword: current_password }),
  ...(profile_data !== undefined && { profileData: toEntries(profile_data) }),
});

export const patchUser = endpoint({
  method: 'PATCH',
  path: '/users/{user_id}',
  auth: 'basic',
  equivalents: ['updateUser'],
  scope: 'administration',
  summary: 'Update a user',
  permission: 'administrators; only owners can give or remove the owner role',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }), ...edits },
  reply: {},
  async handle(ctx, { user_id, ...edit }) {
    await update(ctx, user_id, toEdit(edit));
  },
});

export const patchUserByEmail = endpoint({
  method: 'PATCH',
  path: '/users/{email}',
  auth: 'basic',
  equivalents: ['updateUser'],
  scope: 'administration',
  summary: 'Update a user by email address',
  permission: 'administrators; only owners can give or remove the owner role',
  params: {
    email: inPath(z.string(), {
      description: 'Email address of the user.',
      example: 'bela@example.com',
    }),
    ...edits,
  },
  reply: {},
  async handle(ctx, { email, ...edit }) {
    await update(ctx, email, toEdit(edit));
  },
});

const settingParams = Object.fromEntries(
  USER_SETTING_NAMES.map((name) => [name, settingParam(USER_SETTINGS[name])]),
) as Record<UserSettingName, Param<unknown, 'optional'>>;

const Targets = z.strictObject({
  user_ids: z.array(z.int()).optional(),
  group_ids: z.array(z.int()).optional(),
  skip_if_already_edited: z.boolean().optional(),
});

export const patchSettings = endpoint({
  method: 'PATCH',
  path: '/settings',
  auth: 'basic',
  equivalents: ['updateSettings', 'updateSettingsOf'],
  summary: 'Update your settings, or those of other users',
  permission: 'all users except bots; only administrators can use `target_users`',
  params: {
    full_name: text(z.string(), {
      description: 'Full name. Ignored if only administrators can change names.',
      example: 'Ada Lovelace',
    }).optional(),
    email: text(z.string(), {
      description: 'New email address. A link is sent to it. The address changes when you follow the link.',
      example: 'ada@example.com',
    }).optional(),
    old_password: text(z.string(), {
      description: `Used with \`new_password\` and \`email\`. ${CURRENT_PASSWORD}`,
    }).optional(),
    new_password: text(z.string(), { description: 'New password, 8 to 100 characters.' }).optional(),
    keep_api_key: json(z.boolean(), {
      description:
        'Whether your API key stays valid if this request, authenticated by a session, changes the password. If ' +
        'the request is authenticated by the API key, the key always stays valid.',
    }).optional(),
    ...settingParams,
    target_users: json(Targets, {
      description:
        'Other users whose settings are changed: these users, and the members of these groups. If one change is ' +
        'refused, nothing changes. With `skip_if_already_edited`, settings that a user has changed themselves are ' +
        'skipped.',
    }).optional(),
  },
  reply: {},
  async handle(ctx, { target_users, full_name, email, old_password, new_password, keep_api_key, ...settings }) {
    const account = {
      ...{ fullName: full_name, email, oldPassword: old_password, newPassword: new_password },
      keepsApiKey: keep_api_key,
    };
    if (target_users === undefined) {
      await updateSettings(ctx, { ...account, settings });
      return;
    }
    const { email_address_visibility, ...ofOthers } = settings;
    const passwords = { old_password, new_password, keep_api_key };
    const own = Object.entries({ full_name, email, email_address_visibility, ...passwords }).filter(
      ([, value]) => value !== undefined,
    );
    if (own.length > 0) throw new UnsupportedParametersError([...own.map(([name]) => name), 'target_users']);
    const { user_ids: userIds, group_ids: groupIds, skip_if_already_edited: skipsEdited } = target_users;
    await updateSettingsOf(ctx, { userIds, groupIds, skipsEdited }, ofOthers);
  },
});
