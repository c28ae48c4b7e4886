import { describe, expect, test } from 'vitest';
import { send } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { integer, success, text } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, member, anonymous } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member]);

describe.concurrent('9.1 The prefix', () => {
  test('all paths are under /api/v1', async () => {
    const at = (path: string) => send(member.url, { method: 'GET', path, headers: member.headers });
    expect((await at('/api/v1/users/me')).status).toBe(200);
    for (const path of ['/users/me', '/api/users/me', '/api/v2/users/me']) expect((await at(path)).status).toBe(404);
  });
});

describe.concurrent('9.2 The feature level', () => {
  test('is an integer, at least the newest one in the document, with a free-text version', async () => {
    const { service_feature_level, service_version } = await anonymous.ok('GET', '/server_settings');
    expect([service_feature_level, service_version]).toEqual([integer, text]);
    expect(service_feature_level).toBeGreaterThanOrEqual(496);
  });

  test('is the same in registration', async () => {
    const { service_feature_level } = await member.register({ fetch_event_types: [] });
    expect(service_feature_level).toBe((await anonymous.ok('GET', '/server_settings')).service_feature_level);
  });
});

describe.concurrent('9.3 Behavior by feature level', () => {
  test('111: the bulk subscription endpoint lists ignored parameters', async () => {
    const subscription_data = [{ stream_id: general, property: 'pin_to_top', value: true }];
    const { body } = await member.rest('POST', '/users/me/subscriptions/properties', { subscription_data, extra: 1 });
    expect(body).toEqual(success({ ignored_parameters_unsupported: ['extra'] }));
  });

  test('139: muting sends two events', async () => {
    const channel = await channelOf(owner, 'to mute', [member]);
    const heard = await member.receiving({ event_types: ['subscription'] });
    await member.ok('POST', `/users/me/subscriptions/${channel}`, { property: 'is_muted', value: true });
    expect((await heard()).filter(({ stream_id }) => stream_id === channel)).toHaveLength(2);
  });

  test('163: delivery_email is always present, and its visibility is a setting of the user', async () => {
    const { member, guest } = await createOrganization();
    for (const [visibility, shown] of [
      [1, member.email],
      [4, null],
    ]) {
      await member.ok('PATCH', '/settings', { email_address_visibility: visibility });
      expect((await guest.ok('GET', `/users/${member.id}`)).user.delivery_email).toBe(shown);
    }
  });

  test('184: scheduling does not edit existing messages', async () => {
    const later = {
      type: 'channel',
      to: general,
      topic: 't',
      content: 'c',
      scheduled_delivery_timestamp: 4_102_444_800,
    };
    const { scheduled_message_id } = await member.ok('POST', '/scheduled_messages', later);
    const again = await member.ok('POST', '/scheduled_messages', { ...later, scheduled_message_id });
    expect(again.scheduled_message_id).not.toBe(scheduled_message_id);
  });

  test('228: a change is sent to users who can access the user, not to other organizations', async () => {
    const [{ owner, member, guest }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const [heard, unheard] = [await guest.receiving(), await other.owner.receiving()];
    await owner.ok('PATCH', `/users/${member.id}`, { full_name: 'Renamed' });
    expect(await heard()).toMatchObject([{ type: 'realm_user', op: 'update', person: { user_id: member.id } }]);
    expect(await unheard()).toEqual([]);
  });

  test('248: "channel" is a type', async () => {
    const { id } = await member.ok('POST', '/messages', { type: 'channel', to: general, topic: 't', content: 'c' });
    expect(id).toEqual(integer);
  });

  test('257: realm_url replaces realm_uri', async () => {
    const { realm_url, realm_uri } = await anonymous.ok('GET', '/server_settings');
    expect(realm_url).toBe(realm_uri);
  });

  test.for([
    ['334: the empty topic', ''],
    ['370: "(no topic)"', '(no topic)'],
  ] as const)('%s is a topic', async ([, topic]) => {
    const id = await say(member, general, topic);
    const { message } = await member.ok('GET', `/messages/${id}`, { allow_empty_topic_name: true });
    expect(message.subject).toBe('');
  });

  test.for([
    ['twenty_four_hour_time', true],
    ['enable_desktop_notifications', false],
  ] as const)('439: %s sends only a user_settings event', async ([setting, value]) => {
    const { member } = await createOrganization();
    const heard = await member.receiving();
    await member.ok('PATCH', '/settings', { [setting]: value });
    expect((await heard()).map(({ type }) => type)).toEqual(['user_settings']);
  });

  test('473: administrator bots can set the status of another user', async () => {
    const { owner, bot, member } = await createOrganization();
    await owner.ok('PATCH', `/users/${bot.id}`, { role: 200 });
    expect(await bot.ok('POST', `/users/${member.id}/status`, { status_text: 'by a bot' })).toEqual(success());
  });

  test('480: topics of archived channels are listed', async () => {
    const channel = await channelOf(owner, 'old', [owner, member]);
    await say(owner, channel, 'kept');
    await owner.ok('DELETE', `/streams/${channel}`);
    const { topics } = await member.ok('GET', `/users/me/${channel}/topics`);
    expect(topics).toContainEqual({ name: 'kept', max_id: integer });
  });
});

describe.concurrent('9.4 Deprecated items that remain', () => {
  test('in_home_view', async () => {
    const { subscriptions } = await member.ok('GET', '/users/me/subscriptions');
    for (const one of subscriptions) expect(one.in_home_view).toBe(!one.is_muted);
  });

  test('away', async () => {
    expect(await owner.ok('POST', '/users/me/status', { away: true })).toEqual(success());
  });

  test.for(['authentication_methods', 'realm_uri'])('%s', async (name) => {
    expect(await anonymous.ok('GET', '/server_settings')).toHaveProperty(name);
  });

  test('the email of a time zone person event', async () => {
    const { member, guest } = await createOrganization();
    const heard = await guest.receiving({ event_types: ['realm_user'] });
    await member.ok('PATCH', '/settings', { timezone: 'Asia/Tokyo' });
    const person = { user_id: member.id, email: member.email, timezone: 'Asia/Tokyo' };
    expect(await heard()).toEqual([{ type: 'realm_user', op: 'update', person }]);
  });

  test('POST /mark_topic_as_read', async () => {
    const parameters = { stream_id: general, topic_name: '' };
    expect(await member.ok('POST', '/mark_topic_as_read', parameters)).toEqual(success());
  });
});
