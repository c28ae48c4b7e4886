import { describe, expect, test } from 'vitest';
import { days, requireSettings, seconds } from '../../src/platform/setting.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Parameters as Fields, Person } from '../helpers/person.ts';
import { colorAt, download, PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

const refusalOf = async (person: Person, path: string, parameters: Fields) => {
  const { status, body } = await person.rest('PATCH', path, parameters);
  return [status, body.code, body.msg];
};

const organizationOf = (person: Person) => person.register({ fetch_event_types: ['realm'] });

/** Returns the id of the role group of everyone on the Internet, which holds no permission. */
async function internetGroupOf(owner: Person): Promise<number> {
  const { realm_user_groups: groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
  return groups.find(({ name }: { name: string }) => name === 'role:internet').id;
}

/** Returns the ids of the role groups. `nobody` is the permission value of a channel for which no user holds the permission. */
async function groupsOf(owner: Person) {
  const organization = await organizationOf(owner);
  const { id } = await owner.ok('POST', '/channels/create', { name: 'of nobody', subscribers: [] });
  const { stream } = await owner.ok('GET', `/streams/${id}`);
  return {
    internet: await internetGroupOf(owner),
    everyone: organization.realm_can_resolve_topics_group,
    members: organization.realm_can_create_groups,
    moderators: organization.realm_can_set_delete_message_policy_group,
    administrators: organization.realm_can_manage_billing_group,
    owners: organization.realm_can_manage_all_groups,
    nobody: stream.can_resolve_topics_group,
  };
}

describe('PATCH /realm', () => {
  test.concurrent('changes the given settings, returns them, and notifies all users of the changes', async () => {
    const { owner, administrator, guest } = await createOrganization();
    const heard = await guest.receiving();
    const edit = {
      ...{ name: ' Engines ', description: '**Analytical**', digest_weekday: 6, org_type: 10 },
      ...{ topics_policy: 'disable_empty_topic', welcome_message_custom_text: '👋'.repeat(8000) },
      ...{ message_content_edit_limit_seconds: '"unlimited"', move_messages_within_stream_limit_seconds: 60 },
      ...{ default_language: 'pt-br', enable_read_receipts: true, media_preview_size: 150 },
      // This is the current value, so it is not a change.
      send_welcome_emails: true,
    };
    const reply = await administrator.ok('PATCH', '/realm', edit);
    const changed = {
      ...{ digest_weekday: 6, org_type: 10, message_content_edit_limit_seconds: null },
      ...{ move_messages_within_stream_limit_seconds: 60, enable_read_receipts: true, media_preview_size: 150 },
    };
    const texts = {
      ...{ name: 'Engines', description: '**Analytical**', topics_policy: 'disable_empty_topic' },
      ...{ welcome_message_custom_text: '👋'.repeat(8000), default_language: 'pt-br' },
    };
    const updated = Object.fromEntries(Object.keys(texts).map((name) => [name, 'updated']));
    expect(reply).toEqual({ result: 'success', msg: '', ...changed, ...updated });
    const html = '<p><strong>Analytical</strong></p>';
    const data = { ...changed, ...texts, rendered_description: html, mandatory_topics: true };
    expect(await heard()).toEqual([{ type: 'realm', op: 'update_dict', property: 'default', data }]);
    // Changes some of the settings back.
    await owner.ok('PATCH', '/realm', { message_retention_days: 30, topics_policy: 'allow_empty_topic' });
    await owner.ok('PATCH', '/realm', { message_retention_days: '"unlimited"' });
    const [, { data: back }, { data: kept }] = await heard();
    expect(back).toEqual({ message_retention_days: 30, topics_policy: 'allow_empty_topic', mandatory_topics: false });
    expect(kept).toEqual({ message_retention_days: -1 });
    expect(await organizationOf(guest)).toMatchObject({
      ...{ realm_name: 'Engines', realm_topics_policy: 'allow_empty_topic', realm_message_retention_days: -1 },
      ...{ realm_message_content_edit_limit_seconds: null, realm_media_preview_size: 150 },
    });
    await expectIgnoredParameters(owner, 'PATCH', async () => ({ path: '/realm', parameters: { digest_weekday: 3 } }));
  });

  test.concurrent('is for administrators, and partly for owners', async () => {
    const { owner, administrator, moderator, bot } = await createOrganization();
    const heard = await owner.receiving();
    const { owners } = await groupsOf(owner);
    for (const person of [moderator, bot]) {
      const refusal = [400, 'UNAUTHORIZED_PRINCIPAL', 'Must be an organization administrator'];
      expect(await refusalOf(person, '/realm', { name: 'Mine' })).toEqual(refusal);
    }
    for (const [name, value] of [
      ['message_retention_days', 1],
      ['invite_required', false],
      ['emails_restricted_to_domains', true],
      ['disallow_disposable_email_addresses', false],
      ['waiting_period_threshold', 3],
      ['can_create_groups', { new: owners }],
      ['can_invite_users_group', { new: owners }],
      ['can_manage_all_groups', { new: owners }],
      ['can_manage_billing_group', { new: owners }],
      ['create_multiuse_invite_group', { new: owners }],
    ] as const) {
      const refusal = [400, 'UNAUTHORIZED_PRINCIPAL', 'Must be an organization owner'];
      expect(await refusalOf(administrator, '/realm', { [name]: value, digest_weekday: 4 })).toEqual(refusal);
      expect((await owner.ok('PATCH', '/realm', { [name]: value }))[name] ?? owners).toEqual(
        name.endsWith('group') || name.endsWith('groups') ? owners : value,
      );
    }
    const told = (await heard()).filter(({ type }) => type === 'realm').flatMap(({ data }) => Object.keys(data));
    // The events contain every changed setting. One permission already had the requested value.
    expect(told).toHaveLength(9);
    expect(told).not.toContain('digest_weekday');
  });

  test.concurrent('refuses invalid values, and then changes nothing', async () => {
    const { owner, member } = await createOrganization();
    const open = await owner.ok('POST', '/channels/create', { name: 'open', subscribers: [] });
    const hidden = await owner.ok('POST', '/channels/create', { name: 'a', subscribers: [], invite_only: true });
    const old = await owner.ok('POST', '/channels/create', { name: 'old', subscribers: [], invite_only: true });
    await owner.ok('DELETE', `/streams/${old.id}`);
    await owner.ok('PATCH', '/realm', {
      moderation_request_channel_id: hidden.id,
      signup_announcements_stream_id: open.id,
    });
    const before = await organizationOf(member);
    for (const [parameters, msg] of [
      [{ name: ' ' }, 'name cannot be blank'],
      [{ name: 'n'.repeat(41) }, 'name is too long (limit: 40 characters)'],
      [{ description: 'd'.repeat(1001) }, 'description is too long (limit: 1000 characters)'],
      [{ welcome_message_custom_text: 'a\0b' }, 'welcome_message_custom_text must not contain null bytes'],
      [{ message_content_edit_limit_seconds: 0 }, "Bad value for 'message_content_edit_limit_seconds': 0"],
      [
        { move_messages_between_streams_limit_seconds: -1 },
        "Bad value for 'move_messages_between_streams_limit_seconds': -1",
      ],
      [{ message_retention_days: 0 }, "Bad value for 'message_retention_days': 0"],
      [{ message_retention_days: '"for ever"' }, 'Invalid message_retention_days'],
      [{ digest_weekday: 7 }, 'digest_weekday is too large'],
      [{ waiting_period_threshold: 2 ** 31 }, 'waiting_period_threshold is too large'],
      [{ org_type: 11 }, 'Invalid org_type'],
      [{ topics_policy: 'empty_topic_only' }, 'Invalid topics_policy'],
      [{ default_language: 'tongues' }, 'Invalid default_language'],
      [{ invite_required: 1 }, 'invite_required is not a boolean'],
      [{ new_stream_announcements_stream_id: 2_000_000_000 }, 'Invalid channel ID'],
      [{ new_stream_announcements_stream_id: 0 }, 'Invalid channel ID'],
      [{ service_update_announcements_stream_id: old.id }, 'Invalid channel ID'],
      [{ moderation_request_channel_id: open.id }, 'Moderation request channel must be private.'],
    ] as const) {
      expect(await refusalOf(owner, '/realm', { ...parameters, inline_image_preview: false })).toEqual([
        ...[400, 'BAD_REQUEST', msg],
      ]);
    }
    expect(await organizationOf(member)).toEqual({ ...before, queue_id: expect.any(String) });
    // Only the operator can change these settings, so the endpoint ignores the parameters.
    const reply = await owner.ok('PATCH', '/realm', {
      ...{ owner_full_content_access: true, upload_quota_mib: 5, max_active_users: 5, max_requests_per_minute: 5 },
      max_invitations_per_day: 5,
    });
    expect(reply.ignored_parameters_unsupported).toEqual([
      ...['max_active_users', 'max_invitations_per_day', 'max_requests_per_minute', 'owner_full_content_access'],
      'upload_quota_mib',
    ]);
  });

  test.concurrent('grants permissions to groups and users, as far as each permits', async () => {
    const { owner, member, guest } = await createOrganization();
    const groups = await groupsOf(owner);
    const heard = await member.receiving();
    const give = (name: string, value: unknown, old?: unknown) =>
      owner.ok('PATCH', '/realm', { [name]: { new: value, ...(old !== undefined && { old }) } });
    const people = { direct_members: [member.id, owner.id, member.id], direct_subgroups: [groups.moderators] };
    const stored = { direct_members: [owner.id, member.id], direct_subgroups: [groups.moderators] };
    expect(await give('can_create_bots_group', people, groups.members)).toMatchObject({
      can_create_bots_group: stored,
    });
    // First sets the current holders in another order, which does not count as a change. Then sets one group, and then no
    // holder.
    expect(await give('can_create_bots_group', { ...stored, direct_members: [member.id, owner.id] }, people)).toEqual({
      ...{ result: 'success', msg: '' },
    });
    const set = (...ids: number[]) => ({ direct_members: [], direct_subgroups: ids });
    await give('can_mention_many_users_group', set(groups.everyone));
    await give('can_add_custom_emoji_group', set());
    await give('can_create_web_public_channel_group', set(groups.moderators));
    const [, , ...rest] = (await heard()).map(({ data }) => data);
    expect(rest).toEqual([
      { can_add_custom_emoji_group: groups.nobody },
      { can_create_web_public_channel_group: groups.moderators, create_web_public_stream_policy: 4 },
    ]);
    expect(await organizationOf(guest)).toMatchObject({
      ...{ realm_can_create_bots_group: stored, realm_can_mention_many_users_group: groups.everyone },
      ...{ realm_wildcard_mention_policy: 1, realm_can_add_custom_emoji_group: groups.nobody },
    });
    const not = (name: string, group: string) => `'${name}' setting cannot be set to '${group}' group.`;
    for (const [name, value, code, msg] of [
      [
        'direct_message_permission_group',
        groups.internet,
        'BAD_REQUEST',
        not('direct_message_permission_group', 'role:internet'),
      ],
      [
        'can_create_bots_group',
        set(groups.everyone, groups.owners),
        'BAD_REQUEST',
        not('can_create_bots_group', 'role:everyone'),
      ],
      ['can_manage_all_groups', set(), 'BAD_REQUEST', not('can_manage_all_groups', 'role:nobody')],
      // Only the value "everyone" is valid for this permission, so that no user is hidden from guests.
      ['can_access_all_users_group', groups.members, 'BAD_REQUEST', not('can_access_all_users_group', 'role:members')],
      [
        'can_create_web_public_channel_group',
        people,
        'SYSTEM_GROUP_REQUIRED',
        "'can_create_web_public_channel_group' must be a system user group.",
      ],
      ['can_create_groups', 2_000_000_000, 'BAD_REQUEST', 'Invalid user group'],
      [
        'can_create_groups',
        { direct_members: [2_000_000_000], direct_subgroups: [] },
        'BAD_REQUEST',
        'Invalid user ID: 2000000000',
      ],
    ] as const) {
      expect(await refusalOf(owner, '/realm', { [name]: { new: value } })).toEqual([400, code, msg]);
    }
    const { body } = await owner.rest('PATCH', '/realm', {
      can_create_groups: { new: groups.owners, old: groups.owners },
    });
    expect([body.code, body.field_name]).toEqual(['EXPECTATION_MISMATCH', 'old']);
    const required = await owner.rest('PATCH', '/realm', {
      can_create_web_public_channel_group: { new: set(), old: set() },
    });
    expect(required.body.code).toBe('EXPECTATION_MISMATCH');
  });
});

test.concurrent('updateOrganization gives the same results and events', async () => {
  const { owner, administrator, member } = await createOrganization();
  const groups = await groupsOf(owner);
  const selection = `organization { name renderedDescription moveMessagesWithinChannelLimitSeconds messageRetentionDays
    topicsPolicy organizationType mediaPreviewSize moderationRequestChannel { name } permissions { canCreateGroups { group { name } directMembers { databaseId } } } }`;
  await using events = await member.events(`... on OrganizationUpdatedEvent { organizationSettings ${selection} }`);
  const input = {
    ...{ name: 'Engines', description: '*a*', moveMessagesWithinChannelLimitSeconds: null, messageRetentionDays: 7 },
    ...{ topicsPolicy: 'DISABLE_EMPTY_TOPIC', mediaPreviewSize: null, organizationType: 'RESEARCH' },
    permissions: { canCreateGroups: { new: { direct: { memberIds: [member.id] } }, old: { groupId: groups.members } } },
  };
  const { organization: updated } = await owner.mutate('updateOrganization', input, selection);
  expect(updated).toEqual({
    ...{ name: 'Engines', renderedDescription: '<p><em>a</em></p>', moveMessagesWithinChannelLimitSeconds: null },
    ...{ messageRetentionDays: 7, topicsPolicy: 'DISABLE_EMPTY_TOPIC', moderationRequestChannel: null },
    ...{ organizationType: 'RESEARCH', mediaPreviewSize: 'SMALL' },
    permissions: { canCreateGroups: { group: null, directMembers: [{ databaseId: member.id }] } },
  });
  expect((await member.query(`{ ${selection} }`)).organization).toEqual(updated);
  const event = await events.next();
  expect(event.organizationSettings.toSorted()).toEqual([
    ...['DESCRIPTION', 'MESSAGE_RETENTION_DAYS', 'MOVE_MESSAGES_WITHIN_CHANNEL_LIMIT_SECONDS', 'NAME'],
    ...['ORGANIZATION_TYPE', 'PERMISSIONS', 'RENDERED_DESCRIPTION', 'TOPICS_POLICY'],
  ]);
  expect(event.organization).toEqual(updated);
  // -1 means unlimited.
  await owner.mutate('updateOrganization', { messageRetentionDays: -1 }, 'organization { messageRetentionDays }');
  expect((await organizationOf(member)).realm_message_retention_days).toBe(-1);
  const refused = async (person: Person, fields: Fields, more = '') =>
    person.tryMutation('updateOrganization', fields, `__typename ${more}`);
  expect(await refused(administrator, { emailsRestrictedToDomains: true })).toMatchObject({
    __typename: 'ForbiddenError',
  });
  const edit = (field: string, value: object) => ({ permissions: { [field]: value } });
  expect(await refused(owner, edit('canCreateGroups', { new: { direct: {} }, old: { direct: {} } }))).toMatchObject({
    __typename: 'ExpectationMismatchError',
  });
  expect(await refused(owner, edit('canAccessAllUsers', { new: { direct: { memberIds: [owner.id] } } }))).toMatchObject(
    {
      ...{ __typename: 'ValidationError', code: 'SYSTEM_GROUP_REQUIRED' },
    },
  );
});

describe('PATCH /settings', () => {
  test.concurrent("changes the viewer's settings, and notifies only the viewer's clients", async () => {
    const { member, owner } = await createOrganization();
    const [heard, others] = [await member.receiving(), await owner.receiving()];
    const edit = { web_home_view: 'recent', color_scheme: 2, enter_sends: true, twenty_four_hour_time: null };
    expect(await member.ok('PATCH', '/settings', { ...edit, starred_message_counts: true })).toEqual({
      ...{ result: 'success', msg: '' },
    });
    const told = Object.entries(edit).map(([property, value]) => ({
      type: 'user_settings',
      op: 'update',
      property,
      value,
    }));
    expect((await heard()).toSorted(byProperty)).toEqual(told.toSorted(byProperty));
    await member.ok('PATCH', '/settings', { default_language: 'zh-hans', enter_sends: false });
    expect((await heard()).slice(-2).toSorted(byProperty)).toEqual([
      ...[
        {
          type: 'user_settings',
          op: 'update',
          property: 'default_language',
          value: 'zh-hans',
          language_name: 'Simplified Chinese',
        },
      ],
      ...[{ type: 'user_settings', op: 'update', property: 'enter_sends', value: false }],
    ]);
    expect(await others()).toEqual([]);
    const { user_settings } = await member.register({ fetch_event_types: ['user_settings'] });
    expect(user_settings).toMatchObject({ ...edit, enter_sends: false, default_language: 'zh-hans', timezone: '' });
    const { realm_user_settings_defaults } = await member.register({
      fetch_event_types: ['realm_user_settings_defaults'],
    });
    expect(realm_user_settings_defaults).toMatchObject({ web_home_view: 'inbox', color_scheme: 1 });
    expect(realm_user_settings_defaults.timezone).toBeUndefined();
    expect(Object.keys(realm_user_settings_defaults).length).toBe(Object.keys(user_settings).length - 1);
    await expectIgnoredParameters(member, 'PATCH', async () => ({
      path: '/settings',
      parameters: { color_scheme: 3 },
    }));
  });

  test.concurrent('accepts time zone names, including former ones, without changing them', async () => {
    const { member, guest } = await createOrganization();
    const heard = await guest.receiving();
    for (const timezone of [
      'Europe/Kiev',
      'Europe/Kyiv',
      'US/Pacific',
      'america/argentina/buenos_aires',
      'UTC',
      'Etc/GMT+5',
    ]) {
      await member.ok('PATCH', '/settings', { timezone });
      const person = { user_id: member.id, email: member.email, timezone };
      expect((await heard()).at(-1)).toEqual({ type: 'realm_user', op: 'update', person });
      expect((await guest.ok('GET', `/users/${member.id}`)).user.timezone).toBe(timezone);
    }
    for (const timezone of ['', 'Mars/Olympus', '+01:00', ' UTC', 'Europe', 'Europe/Kiev/']) {
      expect(await refusalOf(member, '/settings', { timezone })).toEqual([400, 'BAD_REQUEST', 'Invalid timezone']);
    }
  });

  test.concurrent('refuses invalid values, and bots', async () => {
    const { member, bot } = await createOrganization();
    const heard = await member.receiving();
    for (const [parameters, msg] of [
      [{ color_scheme: 4 }, 'Invalid color_scheme'],
      [{ web_font_size_px: 0 }, 'web_font_size_px is too small'],
      [
        { email_notifications_batching_period_seconds: 604_801 },
        'email_notifications_batching_period_seconds is too large',
      ],
      [{ notification_sound: 'boom' }, 'Invalid notification_sound'],
      ...['22:00', '24:00-07:00', '22:00-7:00', '22:60-07:00', '07:00-07:00', '22:00–07:00', 'on'].map(
        (quiet_hours) => [{ quiet_hours }, 'Invalid quiet_hours'] as const,
      ),
      [{ default_language: 'en_GB' }, 'Invalid default_language'],
      [{ enter_sends: null }, 'enter_sends is not a boolean'],
      [{ emojiset: 'other' }, 'Invalid emojiset'],
      [{ full_name: '' }, 'Name must not be empty!'],
    ] as const) {
      expect(await refusalOf(member, '/settings', { ...parameters, high_contrast_mode: true })).toEqual([
        400,
        'BAD_REQUEST',
        msg,
      ]);
    }
    expect(await heard()).toEqual([]);
    const refusal = [400, 'BAD_REQUEST', 'This endpoint does not accept bot requests.'];
    expect(await refusalOf(bot, '/settings', { enter_sends: true })).toEqual(refusal);
  });

  test.concurrent('changes the name, unless only administrators can change names', async () => {
    const { owner, member } = await createOrganization();
    const heard = await owner.receiving({ event_types: ['realm_user'] });
    await member.ok('PATCH', '/settings', { full_name: ' Ada ' });
    await member.ok('PATCH', '/settings', { full_name: 'Ada' });
    await owner.ok('PATCH', '/realm', { name_changes_disabled: true, require_unique_names: true });
    await member.ok('PATCH', '/settings', { full_name: 'Not Ada' });
    expect((await refusalOf(owner, '/settings', { full_name: 'ADA' })).slice(0, 2)).toEqual([400, 'BAD_REQUEST']);
    await owner.ok('PATCH', '/settings', { full_name: 'Grace' });
    expect((await heard()).map(({ person }) => person)).toEqual([
      { user_id: member.id, full_name: 'Ada' },
      { user_id: owner.id, full_name: 'Grace' },
    ]);
  });

  test.concurrent('shows the address to the users that the visibility permits, and a placeholder to others', async () => {
    const { owner, administrator, moderator, guest, signUp } = await createOrganization();
    await owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });
    const ada = await signUp('Ada');
    const seen = async (person: Person) => {
      const heard = await person.receiving({ event_types: ['realm_user'], client_gravatar: true });
      return async () => (await heard()).map(({ person: { user_id: _, ...change } }) => change);
    };
    const [toAdministrator, toModerator, toGuest, toAda] = await Promise.all(
      [administrator, moderator, guest, ada].map(seen),
    );
    await ada.ok('PATCH', '/settings', { email_address_visibility: 3 });
    const standIn = `user${ada.id}@users.invalid`;
    expect(await toAda?.()).toEqual([{ new_email: standIn }]);
    expect(await toAdministrator?.()).toEqual([{ new_email: standIn }]);
    expect(await toModerator?.()).toEqual([{ delivery_email: null }, { new_email: standIn }]);
    // The user can sign in with the real email address and with the placeholder.
    for (const username of [standIn, ada.email]) {
      expect((await ada.as(`Basic ${btoa(`${username}:${ada.apiKey}`)}`).ok('GET', '/users/me')).email).toBe(standIn);
    }
    await ada.ok('PATCH', '/settings', { email_address_visibility: 5 });
    const shown = { delivery_email: ada.email };
    expect((await toModerator?.())?.slice(2)).toEqual([shown]);
    await ada.ok('PATCH', '/settings', { email_address_visibility: 1 });
    expect((await toGuest?.())?.slice(2)).toEqual([shown, { new_email: ada.email }]);
    expect((await toAdministrator?.())?.slice(1)).toEqual([{ new_email: ada.email }]);
  });

  test.concurrent('deletes the drafts of a user who turns synchronization off', async () => {
    const { member } = await createOrganization();
    const draft = { type: '', to: [], topic: '', content: 'a' };
    await member.ok('POST', '/drafts', { drafts: [draft] });
    await member.ok('PATCH', '/settings', { enable_drafts_synchronization: false });
    expect((await member.rest('GET', '/drafts')).body.msg).toBe('User has disabled synchronizing drafts.');
    await member.ok('PATCH', '/settings', { enable_drafts_synchronization: true });
    expect((await member.ok('GET', '/drafts')).drafts).toEqual([]);
  });
});

test.concurrent('updateSettings gives the same results and events', async () => {
  const { member, guest, bot } = await createOrganization();
  const changes = '... on UserUpdatedEvent { userProperty user { databaseId timezone fullName deliveryEmail email } }';
  await using own = await member.events(
    `... on UserSettingUpdatedEvent { setting: userSetting userSettings {
      webHomeView twentyFourHourTime demoteInactiveChannels emailAddressVisibility timezone } }`,
  );
  const { queue_id: queueId } = await guest.register({ fetch_event_types: [] });
  const selection =
    'settings { webHomeView twentyFourHourTime demoteInactiveChannels emailAddressVisibility timezone }';
  const settings = {
    ...{ webHomeView: 'ALL_MESSAGES', twentyFourHourTime: null, demoteInactiveChannels: 'NEVER' },
    ...{ emailAddressVisibility: 'NOBODY', timezone: 'Asia/Kolkata' },
  };
  const payload = await member.mutate(
    'updateSettings',
    { settings, fullName: 'Ada' },
    `${selection} user { fullName }`,
  );
  expect(payload).toEqual({ settings, user: { fullName: 'Ada' } });
  expect((await member.query('{ ownSettings { timezone webFontSizePx } }')).ownSettings).toEqual({
    ...{ timezone: 'Asia/Kolkata', webFontSizePx: 16 },
  });
  expect((await own.take(5)).toSorted((a, b) => a.setting.localeCompare(b.setting))).toEqual(
    [
      ...['DEMOTE_INACTIVE_CHANNELS', 'EMAIL_ADDRESS_VISIBILITY', 'TIMEZONE', 'TWENTY_FOUR_HOUR_TIME', 'WEB_HOME_VIEW'],
    ].map((setting) => ({ setting, userSettings: settings })),
  );
  // Fields that the event projection does not contain have their current values.
  const after = { databaseId: member.id, fullName: 'Ada', deliveryEmail: null, timezone: 'Asia/Kolkata' };
  const user = { ...after, email: `user${member.id}@users.invalid` };
  const properties = ['TIMEZONE', 'DELIVERY_EMAIL', 'EMAIL', 'FULL_NAME'];
  await using others = await guest.events(changes, { queueId });
  expect(await others.take(4)).toEqual(properties.map((userProperty) => ({ userProperty, user })));
  // Pages of the previous version send their settings beside the name.
  const former = { enterSends: true, sendPrivateTypingNotifications: false };
  const changed = 'settings { enterSends sendDirectTypingNotifications }';
  expect((await member.mutate('updateSettings', former, changed)).settings).toEqual({
    ...{ enterSends: true, sendDirectTypingNotifications: false },
  });
  expect(await bot.tryMutation('updateSettings', { settings: { enterSends: true } })).toMatchObject({
    __typename: 'ForbiddenError',
  });
  expect(await member.tryMutation('updateSettings', { settings: { webFontSizePx: 0 } })).toMatchObject({
    message: 'settings.webFontSizePx is too small',
  });
});

const byProperty = (a: Json, b: Json) => a.property.localeCompare(b.property);

test.each([days(30, 'days'), seconds(60, 'seconds')])(
  'a limit and the word "unlimited" are the values of a limit in $meaning',
  (limit) => {
    const isAccepted = (value: unknown) => {
      try {
        requireSettings({ limit }, { limit: value });
        return true;
      } catch {
        return false;
      }
    };
    expect(requireSettings({ limit }, { limit: 'unlimited' })).toEqual({ limit: limit.unlimited });
    expect([limit.type.safeParse(limit.unlimited).success, isAccepted(limit.unlimited)]).toEqual([true, false]);
    for (const value of [1, 2, 2 ** 31 - 1, 0, -2, 1.5, 2 ** 31, '1', undefined, true]) {
      const isLimit = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31;
      expect([value, limit.type.safeParse(value).success, isAccepted(value)]).toEqual([value, isLimit, isLimit]);
    }
  },
);

describe('the icon of the organization', () => {
  test.concurrent('is uploaded and removed by administrators, and shown without credentials', async () => {
    const { owner, administrator, guest, anonymous } = await createOrganization();
    const generated = (await organizationOf(guest)).realm_icon_url;
    const heard = await guest.receiving();
    const { icon_url } = await administrator.ok('POST', '/realm/icon', { file: PNG });
    expect(icon_url).toMatch(/^\/avatar\/organization\?v=2$/);
    expect((await heard()).at(-1)).toMatchObject({
      ...{ type: 'realm', op: 'update_dict', data: { icon_url, icon_source: 'U' } },
    });
    const image = await download(anonymous, icon_url);
    expect([image.status, image.headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    expect((await colorAt(image.bytes, 50, 50))[0]).toBe(255);
    expect((await download(anonymous, generated)).headers['cache-control']).toBe('public, max-age=300');
    expect((await owner.ok('GET', '/server_settings')).realm_icon).toBe(icon_url);
    const query = '{ organization { iconUrl iconSource } }';
    expect((await guest.query(query)).organization).toEqual({ iconUrl: icon_url, iconSource: 'UPLOADED' });
    expect((await guest.rest('POST', '/realm/icon', { file: PNG })).body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    const other = await createOrganization();
    const [drawn, alien] = await Promise.all([generated, icon_url].map((url) => download(other.anonymous, url)));
    expect(alien?.bytes).toEqual(drawn?.bytes);
    await owner.ok('DELETE', '/realm/icon');
    expect((await guest.query(query)).organization).toEqual({ iconUrl: generated, iconSource: 'GENERATED' });
    expect((await download(anonymous, icon_url)).headers['cache-control']).toBe('public, max-age=300');
  });
});
