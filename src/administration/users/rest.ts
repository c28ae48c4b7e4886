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
import { profileDataSent, toEntries } from '../../people/profile-fields/wire.ts';
import { accessUser, accessUserByEmail, listUsers as list } from '../../people/users.ts';
import { toWireUser, type WireUser, wireUser } from '../../people/wire.ts';
import { UnsupportedParametersError } from '../../platform/errors.ts';
import { ROLES_MEANING } from '../../platform/roles.ts';
import { createUser as create, type UserEdit, updateUser as update } from './service.ts';
import { updateSettingsOf } from './settings-of-others.ts';
import { updateSettings } from './settings-update.ts';

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

/** How the viewer sees these users, with what they have in their profiles where that is wanted. */
async function showing(ctx: Ctx, users: readonly User[], how: HowShown): Promise<(user: User) => WireUser> {
  const ids = users.map(({ id }) => id);
  const data = how.include_custom_profile_fields ? await profileDataOf(ctx.app.db, ctx.realmId, ids) : undefined;
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
  twins: ['users'],
  summary: 'List users',
  description: 'All people and bots of the organization by id, those deactivated included.',
  params: {
    ...howShown,
    user_ids: json(z.array(z.int()), { description: 'Only these.', example: '[1, 2]' }).optional(),
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
  twins: ['viewer'],
  summary: 'Get your own user',
  description:
    'The fields of a user at the top level, and `max_message_id` (deprecated): the last message received, or -1.',
  params: {},
  reply: { ...wireUser.shape, max_message_id: z.int() },
  async handle({ app, viewer }) {
    const [maxMessageId, profileData] = await Promise.all([
      lastReceivedByTurn(app, { realmId: viewer.realm.id, userId: viewer.id }),
      profileDataByTurn(app, viewer.user),
    ]);
    return { ...toWireUser(viewer.user, viewer, { clientGravatar: false, profileData }), max_message_id: maxMessageId };
  },
});

export const getUser = endpoint({
  method: 'GET',
  path: '/users/{user_id}',
  auth: 'basic',
  twins: ['user(by:)', 'User.profileData'],
  summary: 'Get a user',
  params: { user_id: inPath(z.int(), { description: 'The user.' }), ...howShown },
  reply: { user: wireUser },
  async handle(ctx, { user_id, ...how }) {
    return { user: await showOne(ctx, await accessUser(ctx, user_id), how) };
  },
});

export const getUserByEmail = endpoint({
  method: 'GET',
  path: '/users/{email}',
  auth: 'basic',
  twins: ['user(by:)'],
  summary: 'Get a user by e-mail address',
  description: 'By the real address where you may see it, or by the API address.',
  params: {
    email: inPath(z.string(), {
      description: 'The user, by the address that others see.',
      example: 'bela@example.com',
    }),
    ...howShown,
  },
  reply: { user: wireUser },
  async handle(ctx, { email, ...how }) {
    return { user: await showOne(ctx, await accessUserByEmail(ctx, email), how) };
  },
});

export const createUser = endpoint({
  method: 'POST',
  path: '/users',
  auth: 'basic',
  twins: ['createUser'],
  summary: 'Create a user',
  permission: 'administrators whom the server operator gave the right to create users',
  params: {
    email: text(z.string(), { description: 'What they sign in with.', example: 'ada@example.com' }),
    password: text(z.string(), { description: '8 to 100 characters.', example: 'correct horse battery staple' }),
    full_name: text(z.string(), {
      description: 'What they are called, in at most 100 characters.',
      example: 'Ada Lovelace',
    }),
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
    description: ROLES_MEANING,
    example: '300',
  }).optional(),
  new_email: text(z.string(), {
    description: 'Takes a right of its own, which the server operator gives to administrators.',
    example: 'ada@example.com',
  }).optional(),
  profile_data: json(profileDataSent, {
    description:
      'Custom fields of the profile: a text, or a list of user ids for a field of users; null, "" or [] takes the ' +
      'value away.',
    example: '[{"id": 1, "value": "at sea"}]',
  }).optional(),
};

interface Edits {
  readonly full_name?: string;
  readonly role?: number;
  readonly new_email?: string;
  readonly profile_data?: z.output<typeof profileDataSent>;
}

const toEdit = ({ full_name, role, new_email, profile_data }: Edits): UserEdit => ({
  ...(full_name !== undefined && { fullName: full_name }),
  ...(role !== undefined && { role }),
  ...(new_email !== undefined && { newEmail: new_email }),
  ...(profile_data !== undefined && { profileData: toEntries(profile_data) }),
});

export const patchUser = endpoint({
  method: 'PATCH',
  path: '/users/{user_id}',
  auth: 'basic',
  twins: ['updateUser'],
  summary: 'Update a user',
  permission: 'administrators; owners, where the owner role is given or taken',
  params: { user_id: inPath(z.int(), { description: 'The user.' }), ...edits },
  reply: {},
  async handle(ctx, { user_id, ...edit }) {
    await update(ctx, user_id, toEdit(edit));
  },
});

export const patchUserByEmail = endpoint({
  method: 'PATCH',
  path: '/users/{email}',
  auth: 'basic',
  twins: ['updateUser'],
  summary: 'Update a user by e-mail address',
  permission: 'administrators; owners, where the owner role is given or taken',
  params: {
    email: inPath(z.string(), {
      description: 'The user, by the address that others see.',
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
  twins: ['updateSettings', 'updateSettingsOf'],
  summary: 'Update your settings, or those of others',
  permission: 'people, not bots; administrators, with `target_users`',
  params: {
    full_name: text(z.string(), {
      description: 'Passed over where only administrators may change names.',
      example: 'Ada Lovelace',
    }).optional(),
    email: text(z.string(), {
      description: 'A link is sent there, and the address is used when you have followed it.',
      example: 'ada@example.com',
    }).optional(),
    old_password: text(z.string(), { description: 'With `new_password`.' }).optional(),
    new_password: text(z.string(), { description: '8 to 100 characters.' }).optional(),
    ...settingParams,
    target_users: json(Targets, {
      description:
        'Whose settings to change, all or none: these users, and the members of these groups; with ' +
        '`skip_if_already_edited` none that somebody has changed themselves.',
    }).optional(),
  },
  reply: {},
  async handle(ctx, { target_users, full_name, email, old_password, new_password, ...settings }) {
    const account = { fullName: full_name, email, oldPassword: old_password, newPassword: new_password };
    if (target_users === undefined) {
      await updateSettings(ctx, { ...account, settings });
      return;
    }
    const { email_address_visibility, ...ofOthers } = settings;
    const own = Object.entries({ full_name, email, email_address_visibility, old_password, new_password }).filter(
      ([, value]) => value !== undefined,
    );
    if (own.length > 0) throw new UnsupportedParametersError([...own.map(([name]) => name), 'target_users']);
    const { user_ids: userIds, group_ids: groupIds, skip_if_already_edited: skipsEdited } = target_users;
    await updateSettingsOf(ctx, { userIds, groupIds, skipsEdited }, ofOthers);
  },
});
