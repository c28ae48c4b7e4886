import { signedIn } from '../../access/context.ts';
import { USER_SETTINGS } from '../../access/user-settings.ts';
import { builder } from '../../api/graphql/builder.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { settingInputs, settingsGiven } from '../../api/graphql/setting-fields.ts';
import { ProfileValueInput, toEntries, User, UserRole, UserSettings } from '../../people/graphql.ts';
import { listUsers } from '../../people/users.ts';
import { RateLimitHitError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { createUser, updateUser } from './service.ts';
import { SETTINGS_OF_OTHERS, updateSettingsOf } from './settings-of-others.ts';
import { updateSettings } from './settings-update.ts';

builder.prismaObjectField(User, 'viewerCanEdit', (t) =>
  t.boolean({
    description:
      'Whether the viewer may change their name, role and profile by `updateUser`. What makes or unmakes an owner takes an ' +
      'owner.',
    select: { isSystem: true },
    resolve: ({ isSystem }, _args, ctx) => !isSystem && isAdministrator(signedIn(ctx).viewer.role),
  }),
);

mutation('createUser', {
  description:
    'Adds a member to the organization. For administrators whom the operator of the server gave the right to create users.',
  input: (t) => ({
    email: t.string({ description: 'Their e-mail address.' }),
    password: t.string({ description: 'What they sign in with at first; 8 to 100 characters.' }),
    fullName: t.string({ description: 'What they are called; at most 100 characters.' }),
  }),
  payload: () => ({ user: { type: User, description: 'The new user.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, input) => ({ user: await createUser(ctx, input) }),
});

mutation('updateUser', {
  description:
    "Changes what is given of a user's name, role, address and profile. For administrators; only owners give or take the owner " +
    'role.',
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), description: 'Whom to change.' }),
    fullName: t.string({
      required: false,
      description: 'What they are called; at most 100 characters. A blank one is no change.',
    }),
    role: t.field({ type: UserRole, required: false, description: 'What they may do.' }),
    newEmail: t.string({
      required: false,
      description: 'Their e-mail address. Takes a right of its own, which the server operator gives to administrators.',
    }),
    profileData: t.field({
      type: [ProfileValueInput],
      required: false,
      description: 'Custom fields of their profile, of a person alone; all others stay.',
    }),
  }),
  payload: () => ({ user: { type: User, description: 'The user, after the change.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { userId, profileData, ...edit }) => ({
    user: await updateUser(ctx, userId, {
      ...given(edit),
      ...(profileData != null && { profileData: toEntries(profileData) }),
    }),
  }),
});

mutation('updateSettings', {
  description: "Changes what is given of the viewer's name, address, password and settings. Not for bots.",
  input: (t) => ({
    fullName: t.string({
      required: false,
      description:
        'What they are called; at most 100 characters. Passed over where only administrators may change names.',
    }),
    email: t.string({
      required: false,
      description: 'Their e-mail address: a link is sent there, and it is used when the viewer has followed it.',
    }),
    oldPassword: t.string({ required: false, description: 'What they sign in with, to be given with `newPassword`.' }),
    newPassword: t.string({ required: false, description: 'What they are to sign in with; 8 to 100 characters.' }),
    ...settingInputs(t, USER_SETTINGS),
  }),
  errors: [RateLimitHitError],
  payload: () => ({
    settings: { type: UserSettings, description: "All of the viewer's settings, after the change." },
    user: { type: User, description: 'The viewer, after the change.' },
  }),
  resolve: async (ctx, { fullName, email, oldPassword, newPassword, ...settings }) => {
    const account = given({ fullName, email, oldPassword, newPassword });
    await updateSettings(ctx, { ...account, settings: settingsGiven(USER_SETTINGS, settings) });
    const user = await ctx.app.db.user.findUniqueOrThrow({
      where: { realmId_id: { realmId: ctx.realmId, id: ctx.viewer.id } },
    });
    return { settings: user, user };
  },
});

mutation('updateSettingsOf', {
  description: 'Changes settings of other people, of all of them or of none. For administrators; not for bots.',
  input: (t) => ({
    userIds: t.idList({ ...refersTo('User'), required: false, description: 'Whose settings to change.' }),
    groupIds: t.idList({
      ...refersTo('UserGroup'),
      required: false,
      description:
        'Whose members to change the settings of, those of groups within them included. At most 2,000 people in all.',
    }),
    skipsEdited: t.boolean({
      required: false,
      description: 'Whether each setting stays as it is with those who have changed it themselves; false, if absent.',
    }),
    ...settingInputs(t, SETTINGS_OF_OTHERS),
  }),
  payload: () => ({ users: { type: [User], description: 'Whom it was about, by id; at most 2,000.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { userIds, groupIds, skipsEdited, ...settings }) => ({
    users: await listUsers(ctx, {
      userIds: await updateSettingsOf(
        ctx,
        given({ userIds, groupIds, skipsEdited }),
        settingsGiven(SETTINGS_OF_OTHERS, settings),
      ),
    }),
  }),
});
