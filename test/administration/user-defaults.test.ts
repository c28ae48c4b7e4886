import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAccount } from '../../src/access/accounts.ts';
import { createUser } from '../../src/administration/users/service.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const DEFAULTS = '/realm/user_settings_defaults';

const settingsOf = async (person: Person): Promise<Json> =>
  (await person.register({ fetch_event_types: ['user_settings'] })).user_settings;

const defaultsFor = async (person: Person): Promise<Json> =>
  (await person.register({ fetch_event_types: ['realm_user_settings_defaults'] })).realm_user_settings_defaults;

describe('the default settings of new users', () => {
  test.concurrent('change for future users, but not for existing ones', async () => {
    const { administrator, member, guest, signUp } = await createOrganization();
    const heard = await guest.receiving({ event_types: ['realm_user_settings_defaults', 'user_settings'] });
    const edit = { color_scheme: 2, web_home_view: 'recent', enable_sounds: true, twenty_four_hour_time: null };
    expect(await administrator.ok('PATCH', DEFAULTS, { ...edit, timezone: 'Europe/Paris' })).toEqual({
      ...{ result: 'success', msg: '', ignored_parameters_unsupported: ['timezone'] },
    });
    await administrator.ok('PATCH', DEFAULTS, edit);
    const told = { type: 'realm_user_settings_defaults', op: 'update' };
    expect(await heard()).toEqual([
      { ...told, property: 'twenty_four_hour_time', value: null },
      { ...told, property: 'color_scheme', value: 2 },
      { ...told, property: 'web_home_view', value: 'recent' },
    ]);
    expect(await defaultsFor(guest)).toMatchObject(edit);
    expect(await settingsOf(member)).toMatchObject({ color_scheme: 1, web_home_view: 'inbox' });
    const comer = await signUp('New');
    expect(await settingsOf(comer)).toMatchObject({ ...edit, timezone: '' });
    await administrator.ok('PATCH', DEFAULTS, { color_scheme: 1 });
    expect(await settingsOf(comer)).toMatchObject({ color_scheme: 2 });
    await comer.ok('PATCH', '/settings', { color_scheme: 1 });
    expect(await settingsOf(comer)).toMatchObject({ color_scheme: 1, web_home_view: 'recent' });
  });

  test.concurrent('does not apply to bots', async () => {
    const { owner } = await createOrganization();
    await owner.ok('PATCH', DEFAULTS, { email_address_visibility: 4 });
    const { user_id } = await owner.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
    const { user } = await owner.ok('GET', `/users/${user_id}`);
    expect(user.email).toContain('helper-bot@');
  });

  test.concurrent('is the same over GraphQL', async () => {
    const { owner, member } = await createOrganization();
    await using stream = await member.events(
      `... on UserSettingsDefaultUpdatedEvent { userSetting
        userSettingsDefaults { enableChannelDesktopNotifications defaultLanguage } }`,
    );
    const { defaults } = await owner.mutate(
      'updateUserSettingsDefaults',
      { settings: { enableChannelDesktopNotifications: true } },
      'defaults { enableChannelDesktopNotifications defaultLanguage }',
    );
    expect(defaults).toEqual({ enableChannelDesktopNotifications: true, defaultLanguage: 'en' });
    expect(await stream.next()).toMatchObject({
      userSetting: 'ENABLE_CHANNEL_DESKTOP_NOTIFICATIONS',
      userSettingsDefaults: { enableChannelDesktopNotifications: true, defaultLanguage: 'en' },
    });
    const { userSettingsDefaults } = await member.query(
      '{ userSettingsDefaults { enableChannelDesktopNotifications } }',
    );
    expect(userSettingsDefaults).toEqual({ enableChannelDesktopNotifications: true });
    expect(await member.tryMutation('updateUserSettingsDefaults', { settings: { enterSends: true } })).toMatchObject({
      code: 'UNAUTHORIZED_PRINCIPAL',
    });
    for (const [mutation, settings] of [
      ['updateUserSettingsDefaults', { enterSends: true, timezone: 'Asia/Kolkata' }],
      ['updateSettingsOf', { enterSends: true, emailAddressVisibility: 'NOBODY' }],
    ] as const) {
      const refused = Object.keys(settings)[1];
      expect(await owner.tryMutation(mutation, { settings })).toMatchObject({
        ...{ __typename: 'ValidationError', message: `settings.${refused} cannot be changed here` },
      });
    }
  });

  test.concurrent('requires an administrator, and values that users could set', async () => {
    const { owner, moderator, bot } = await createOrganization();
    for (const [person, parameters, code] of [
      [moderator, { color_scheme: 2 }, 'UNAUTHORIZED_PRINCIPAL'],
      [bot, { color_scheme: 2 }, 'UNAUTHORIZED_PRINCIPAL'],
      [owner, { color_scheme: 9 }, 'BAD_REQUEST'],
      [owner, { enter_sends: 1 }, 'BAD_REQUEST'],
      [owner, { email_notifications_batching_period_seconds: 0 }, 'BAD_REQUEST'],
    ] as const) {
      const { status, body } = await person.rest('PATCH', DEFAULTS, parameters);
      expect([status, body.code], JSON.stringify(parameters)).toEqual([400, code]);
    }
    for (const name of [
      'default_language',
      'enable_marketing_emails',
      'enable_login_emails',
      'allow_private_data_export',
    ]) {
      const { ignored_parameters_unsupported } = await owner.ok('PATCH', DEFAULTS, { [name]: 'de' });
      expect(ignored_parameters_unsupported).toEqual([name]);
      expect(await defaultsFor(owner)).toHaveProperty(name);
    }
  });
});

describe('a user who is created during a change', () => {
  let service: InProcess;
  beforeAll(async () => {
    service = await shareInProcess();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test('starts with the new defaults, and is not created if the creator has lost the permission', async () => {
    const { app } = service;
    const { organization, owner, administrator } = await createOrganization({}, { on: service });
    await app.db.user.updateMany({ where: { id: administrator.id }, data: { canCreateUsers: true } });
    // The account as read before its new password is hashed.
    const account = await readAccount(app.db, organization.id, administrator.id);
    const viewer = { ...account, id: administrator.id, role: account.user.role, clientName: 'test', credential: null };
    const create = (name: string) =>
      createUser(
        { app, work: app.work, organizationId: organization.id, viewer },
        { email: `${name}@example.com`, fullName: name, password: 'correct horse' },
      );
    await owner.ok('PATCH', DEFAULTS, { color_scheme: 2 });
    expect((await create('zoe')).settings).toMatchObject({ color_scheme: 2 });
    await owner.ok('PATCH', `/users/${administrator.id}`, { role: 400 });
    await expect(create('yan')).rejects.toThrow('Must be an organization administrator');
  });
});

describe('settings of others', () => {
  const change = (by: Person, target_users: Parameters, settings: Parameters = { color_scheme: 3 }) =>
    by.rest('PATCH', '/settings', { ...settings, target_users });
  const schemes = async (people: readonly Person[]) =>
    Promise.all(people.map(async (person) => (await settingsOf(person)).color_scheme));

  test.concurrent('can be changed by administrators, for users and members of groups, with events for each', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization();
    const heard = await Promise.all([member, moderator, guest].map((person) => person.receiving()));
    const group = { name: 'sailors', description: '', members: [moderator.id] };
    const { group_id } = await owner.ok('POST', '/user_groups/create', group);
    expect((await change(administrator, { user_ids: [member.id, member.id], group_ids: [group_id] })).status).toBe(200);
    expect(await schemes([owner, administrator, moderator, member, guest])).toEqual([1, 1, 3, 3, 1]);
    const told = await Promise.all(heard.map((read) => read()));
    const own = { type: 'user_settings', op: 'update', property: 'color_scheme', value: 3 };
    expect(told.map((events) => events.filter(({ type }) => type === 'user_settings'))).toEqual([[own], [own], []]);
    const { users } = await owner.mutate(
      'updateSettingsOf',
      { userIds: [guest.id], settings: { colorScheme: 'DARK', enterSends: true } },
      'users { databaseId }',
    );
    expect([users, await schemes([owner, guest])]).toEqual([[{ databaseId: guest.id }], [1, 2]]);
  });

  test.concurrent('are kept on request for users who changed them before', async () => {
    const { owner, member, guest } = await createOrganization();
    await member.ok('PATCH', '/settings', { color_scheme: 2 });
    await member.ok('PATCH', '/settings', { color_scheme: 1 });
    const targets = { user_ids: [member.id, guest.id], skip_if_already_edited: true };
    await change(owner, targets, { color_scheme: 3, enter_sends: true });
    expect(await schemes([member, guest])).toEqual([1, 3]);
    expect((await settingsOf(member)).enter_sends).toBe(true);
    // If an administrator changes a setting, this does not count as an edit by the user.
    await change(owner, targets, { color_scheme: 2 });
    expect(await schemes([member, guest])).toEqual([1, 2]);
    await change(owner, { user_ids: [member.id] });
    expect(await schemes([member])).toEqual([3]);
  });

  test.concurrent('are changed for all users or for none', async () => {
    const { owner, moderator, member, guest, bot } = await createOrganization();
    const other = await createOrganization();
    for (const [person, targets, settings, code, msg] of [
      [moderator, { user_ids: [guest.id] }, {}, 'UNAUTHORIZED_PRINCIPAL', 'Must be an organization administrator'],
      [owner, { user_ids: [member.id, bot.id] }, {}, 'BAD_REQUEST', `Invalid user ID: ${bot.id}`],
      [owner, { user_ids: [member.id, other.member.id] }, {}, 'BAD_REQUEST', `Invalid user ID: ${other.member.id}`],
      [owner, { user_ids: [member.id], group_ids: [2e9] }, {}, 'BAD_REQUEST', 'Invalid user group'],
      [owner, { user_ids: [member.id] }, { color_scheme: 9 }, 'BAD_REQUEST', undefined],
      [owner, { user_ids: [member.id], everybody: true }, {}, 'BAD_REQUEST', undefined],
      [
        ...[owner, { user_ids: [member.id] }, { full_name: 'Other' }, 'BAD_REQUEST'],
        'Unsupported parameter combination: full_name, target_users',
      ],
      // Administrators cannot change this setting, because users can hide their address even from administrators.
      [
        ...[owner, { user_ids: [member.id] }, { email_address_visibility: 1 }, 'BAD_REQUEST'],
        'Unsupported parameter combination: email_address_visibility, target_users',
      ],
      [
        ...[owner, { user_ids: [member.id] }, { email: 'other@example.com', old_password: 'x' }, 'BAD_REQUEST'],
        'Unsupported parameter combination: email, old_password, target_users',
      ],
    ] as [Person, Parameters, Parameters, string, string | undefined][]) {
      const { status, body } = await change(person, targets, { color_scheme: 3, ...settings });
      expect([status, body.code], JSON.stringify(targets)).toEqual([400, code]);
      if (msg !== undefined) expect(body.msg).toBe(msg);
    }
    expect(await schemes([member, guest])).toEqual([1, 1]);
  });

  test.concurrent('are changed for all users, but not for bots, through role:everyone', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await createOrganization();
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const everyone = realm_user_groups.find(({ name }: Json) => name === 'role:everyone');
    await change(owner, { group_ids: [everyone.id] });
    expect(await schemes([owner, administrator, moderator, member, guest])).toEqual([3, 3, 3, 3, 3]);
    expect(await schemes([bot])).toEqual([1]);
  });
});
