import { signedIn } from '../../access/context.ts';
import { USER_SETTINGS } from '../../access/user-settings.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refuseBoth } from '../../api/graphql/schema/deprecated-members.ts';
import { given, mutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { settingInputs, settingsGiven } from '../../api/graphql/schema/setting-fields.ts';
import { UserRole } from '../../api/graphql/schema/user-role.ts';
import { ProfileValueInput, toEntries, User, UserSettings, UserSettingsInput } from '../../people/graphql.ts';
import { listUsers } from '../../people/users.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { FORMER_INPUTS } from './former-inputs.ts';
import { createUser, mayUpdateUser, updateUser } from './service.ts';
import { updateSettingsOf } from './settings-of-others.ts';
import { updateSettings } from './settings-update.ts';

builder.prismaObjectField(User, 'viewerCanEdit', (t) =>
  t.boolean({
    description:
      "Whether the viewer can change the user's name, role and profile with `updateUser`. Only owners can give or " +
      'remove the owner role.',
    select: { isSystem: true },
    resolve: (user, _args, ctx) => mayUpdateUser(signedIn(ctx), user),
  }),
);

mutation('createUser', {
  scope: 'administration',
  description:
    'Creates a user with the member role. For administrators to whom the operator gave the right to create users.',
  input: (t) => ({
    email: t.string({ description: 'Email address of the user.' }),
    password: t.string({ description: 'Initial password, 8 to 100 characters.' }),
    fullName: t.string({ description: 'Full name, at most 100 characters.' }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ user: { type: User, description: 'The new user.' } }),
  errors: [PasswordRequiredError],
  resolve: async (ctx, { currentPassword, ...input }) => ({
    user: await createUser(ctx, { ...input, currentPassword: currentPassword ?? undefined }),
  }),
});

mutation('updateUser', {
  scope: 'administration',
  description:
    "Updates a user's name, role, email address and profile. Omitted fields do not change. For administrators. Only " +
    'owners can give or remove the owner role.',
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), description: 'Id of the user.' }),
    fullName: t.string({
      required: false,
      description: 'Full name, at most 100 characters. A blank name is ignored.',
    }),
    role: t.field({ type: UserRole, required: false, description: 'Role of the user.' }),
    newEmail: t.string({
      required: false,
      description:
        'New email address. For administrators to whom the operator gave the right to change email addresses.',
    }),
    currentPassword: t.string({
      required: false,
      description: `Used with \`role\` and \`newEmail\`. ${CURRENT_PASSWORD}`,
    }),
    profileData: t.field({
      type: [ProfileValueInput],
      required: false,
      description: 'Values of custom profile fields to set. Other fields do not change. Not for bots.',
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The user after the change.' } }),
  errors: [PasswordRequiredError],
  resolve: async (ctx, { userId, profileData, ...edit }) => ({
    user: await updateUser(ctx, userId, {
      ...given(edit),
      ...(profileData != null && { profileData: toEntries(profileData) }),
    }),
  }),
});

mutation('updateSettings', {
  description:
    "Updates the viewer's name, email address, password and settings. Omitted fields do not change. Not available " +
    'to bots.',
  input: (t) => ({
    fullName: t.string({
      required: false,
      description: 'Full name, at most 100 characters. Ignored if only administrators can change names.',
    }),
    email: t.string({
      required: false,
      description: 'New email address. A link is sent to it. The address changes when the viewer follows the link.',
    }),
    oldPassword: t.string({
      required: false,
      description: `Used with \`newPassword\` and \`email\`. ${CURRENT_PASSWORD}`,
    }),
    newPassword: t.string({ required: false, description: 'New password, 8 to 100 characters.' }),
    keepsApiKey: t.boolean({
      required: false,
      description:
        'Whether the API key stays valid if this request, authenticated by a session, changes the password. ' +
        'Default: false. If the request is authenticated by the API key, the key always stays valid.',
    }),
    settings: t.field({ type: UserSettingsInput, required: false, description: 'Settings to change.' }),
    ...settingInputs(t, FORMER_INPUTS, 'Use `settings`.'),
    sendPrivateTypingNotifications: t.boolean({
      required: false,
      description: 'Whether other users are notified when the user types a direct message.',
      deprecationReason: 'Use `settings { sendDirectTypingNotifications }`.',
    }),
  }),
  errors: [RateLimitHitError, PasswordRequiredError],
  payload: () => ({
    settings: { type: UserSettings, description: 'All settings of the viewer after the change.' },
    user: { type: User, description: 'The viewer after the change.' },
  }),
  resolve: async (ctx, { fullName, email, oldPassword, newPassword, keepsApiKey, settings, ...former }) => {
    refuseBoth('settings', settings != null, former);
    const account = given({ fullName, email, oldPassword, newPassword, keepsApiKey });
    const sendDirectTypingNotifications = former.sendPrivateTypingNotifications;
    const all = settingsGiven(USER_SETTINGS, { sendDirectTypingNotifications, ...former, ...settings });
    await updateSettings(ctx, { ...account, settings: all });
    const user = await ctx.work.db.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: ctx.organizationId, id: ctx.viewer.id } },
    });
    return { settings: user, user };
  },
});

mutation('updateSettingsOf', {
  scope: 'administration',
  description:
    'Changes settings of other users. If one change is refused, nothing changes. For administrators. Not available ' +
    'to bots.',
  input: (t) => ({
    userIds: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Ids of users whose settings are changed.',
    }),
    userGroupIds: t.idList({
      ...refersTo('UserGroup'),
      required: false,
      description:
        "Ids of groups whose members' settings are changed, including members of subgroups. At most 2,000 users in " +
        'total.',
    }),
    skipsEdited: t.boolean({
      required: false,
      description: 'Whether to skip the settings that a user has changed themselves. Default: false.',
    }),
    settings: t.field({
      type: UserSettingsInput,
      description: 'Settings to change: all but `emailAddressVisibility`, which only the users themselves can change.',
    }),
  }),
  payload: () => ({
    users: {
      type: [User],
      description:
        'The users of `userIds` and the members of the groups, ascending by id, at most 2,000. Includes users whose ' +
        'settings did not change.',
    },
  }),
  resolve: async (ctx, { userIds, userGroupIds, skipsEdited, settings }) => ({
    users: await listUsers(ctx, {
      userIds: await updateSettingsOf(
        ctx,
        given({ userIds, groupIds: userGroupIds, skipsEdited }),
        settingsGiven(USER_SETTINGS, settings),
      ),
    }),
  }),
});
