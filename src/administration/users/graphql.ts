import { USER_SETTINGS } from '../../access/user-settings.ts';
import { given, mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { settingInputs, settingsGiven } from '../../api/graphql/setting-fields.ts';
import { ProfileValueInput, toEntries, User, UserRole, UserSettings } from '../../people/graphql.ts';
import { RateLimitHitError, UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { createUser, updateUser } from './service.ts';
import { SETTINGS_OF_OTHERS, updateSettingsOf } from './settings-of-others.ts';
import { updateSettings } from './settings-update.ts';

mutation('createUser', {
  description:
    'Adds a member to the organization. For administrators whom the operator of the server gave the right to create users.',
  input: (t) => ({
    email: t.string(),
    password: t.string({ description: '8 to 100 characters.' }),
    fullName: t.string(),
  }),
  payload: () => ({ user: { type: User } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, input) => ({ user: await createUser(ctx, input) }),
});

mutation('updateUser', {
  description:
    "Changes what is given of a user's name, role, address and profile. For administrators; only owners give or take the owner " +
    'role.',
  input: (t) => ({
    userId: t.id(refersTo('User')),
    fullName: t.string({ required: false, description: 'A blank one is no change.' }),
    role: t.field({ type: UserRole, required: false }),
    newEmail: t.string({
      required: false,
      description: 'Takes a right of its own, which the server operator gives to administrators.',
    }),
    profileData: t.field({
      type: [ProfileValueInput],
      required: false,
      description: 'Of a person alone: custom fields of their profile.',
    }),
  }),
  payload: () => ({ user: { type: User } }),
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
    fullName: t.string({ required: false, description: 'Passed over where only administrators may change names.' }),
    email: t.string({
      required: false,
      description: 'A link is sent there, and the address is used when the viewer has followed it.',
    }),
    oldPassword: t.string({ required: false, description: 'With `newPassword`.' }),
    newPassword: t.string({ required: false, description: '8 to 100 characters.' }),
    ...settingInputs(t, USER_SETTINGS),
  }),
  errors: [RateLimitHitError],
  payload: () => ({ settings: { type: UserSettings }, user: { type: User } }),
  resolve: async (ctx, { fullName, email, oldPassword, newPassword, ...settings }) => {
    const account = given({ fullName, email, oldPassword, newPassword });
    await updateSettings(ctx, { ...account, settings: settingsGiven(USER_SETTINGS, settings) });
    const user = await ctx.app.db.user.findUniqueOrThrow({ where: { id: ctx.viewer.id } });
    return { settings: user, user };
  },
});

mutation('updateSettingsOf', {
  description: 'Changes settings of other people, of all of them or of none. For administrators; not for bots.',
  input: (t) => ({
    userIds: t.idList({ ...refersTo('User'), required: false }),
    groupIds: t.idList({ ...refersTo('UserGroup'), required: false, description: 'All who are in these groups.' }),
    skipsEdited: t.boolean({
      required: false,
      description: 'Whether each setting stays as it is with those who have changed it themselves.',
    }),
    ...settingInputs(t, SETTINGS_OF_OTHERS),
  }),
  payload: () => ({ userIds: { type: ['ID'], refersTo: 'User', description: 'Whom it was about.' } }),
  errors: [UnauthorizedPrincipalError],
  resolve: async (ctx, { userIds, groupIds, skipsEdited, ...settings }) => ({
    userIds: await updateSettingsOf(
      ctx,
      given({ userIds, groupIds, skipsEdited }),
      settingsGiven(SETTINGS_OF_OTHERS, settings),
    ),
  }),
});
