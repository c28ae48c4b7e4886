import { expect, test } from 'vitest';
import { type Json, type Reply, send } from '../helpers/http.ts';
import { Person } from '../helpers/person.ts';
import { type PhoneServices, registerApp, startPhoneServices } from '../helpers/phone-services.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startService } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

/** Capabilities with which the app registers its queue. */
const CAPABILITIES = {
  ...{ notification_settings_null: true, bulk_message_deletion: true, user_avatar_url_field_optional: false },
  ...{ stream_typing_notifications: true, user_settings_object: true, include_deactivated_groups: true },
  empty_topic_name: true,
};

/** Requests of an app to a server, with the response of each that was not successful. */
class App {
  readonly failures: string[] = [];
  readonly #person: Person;

  constructor(person: Person) {
    this.#person = person;
  }

  async call(method: 'GET' | 'POST' | 'DELETE' | 'PATCH', path: string, parameters: Json = {}): Promise<Json> {
    const { status, body } = await this.#person.rest(method, path, parameters);
    if (status !== 200) this.failures.push(`${method} ${path}: ${status} ${body?.msg}`);
    return body;
  }

  /** Reads a file whose URL the server has sent. */
  async file(url: string): Promise<Reply> {
    const { pathname, search } = new URL(url, this.#person.url);
    const reply = await send(this.#person.url, {
      method: 'GET',
      path: `${pathname}${search}`,
      headers: this.#person.headers,
    });
    if (reply.status !== 200) this.failures.push(`GET ${pathname}: ${reply.status}`);
    return reply;
  }
}

/** Sends the requests of an app from the entry of the server's address to the first view of messages. */
async function start(phones: PhoneServices | undefined): Promise<string[]> {
  await using service = await startService({ env: phones?.env ?? {} });
  const made = await createOrganization({}, { on: service, password: OWNER_PASSWORD });
  const { owner, member, anonymous } = made;
  const channel = await channelOf(owner, 'general', [owner, member]);
  const messageId = await say(member, channel, 'welcome', 'Hello @**owner** :tada: :custom:');
  await owner.ok('POST', '/realm/emoji/custom', { file: PNG });
  await member.ok('POST', '/users/me/avatar', { file: PNG });

  const settings = await anonymous.rest('GET', '/server_settings');
  expect(settings.status).toBe(200);
  expect(settings.body).toMatchObject({
    ...{ push_notifications_enabled: phones !== undefined, is_incompatible: false, email_auth_enabled: true },
    ...{ realm_url: expect.stringMatching(/^http/), realm_name: expect.any(String), realm_icon: expect.any(String) },
    ...{ service_feature_level: expect.any(Number), authentication_methods: { password: true } },
    external_authentication_methods: expect.any(Array),
  });
  const login = await anonymous.rest('POST', '/fetch_api_key', { username: owner.email, password: OWNER_PASSWORD });
  expect(login.body).toMatchObject({ result: 'success', email: owner.email, user_id: owner.id });

  const app = new App(
    new Person(anonymous, {
      id: owner.id,
      name: owner.name,
      email: login.body.email,
      apiKey: login.body.api_key,
      role: owner.role,
    }),
  );
  const own = await app.call('GET', '/users/me');
  expect(own).toMatchObject({ user_id: owner.id, full_name: 'owner' });
  const snapshot = await app.call('POST', '/register', {
    ...{ apply_markdown: true, slim_presence: true, client_gravatar: false, idle_queue_timeout: '"mobile"' },
    ...{ client_capabilities: CAPABILITIES, include_subscribers: 'partial' },
  });
  // Fields without which the app cannot show its first view.
  expect(snapshot).toMatchObject({
    ...{ queue_id: expect.any(String), last_event_id: expect.any(Number), service_feature_level: expect.any(Number) },
    ...{ idle_queue_timeout_secs: 43_200, alert_words: [], custom_profile_fields: expect.any(Array), devices: {} },
    ...{ max_message_id: messageId, realm_emoji: expect.any(Object), realm_user_groups: expect.any(Array) },
    ...{
      saved_snippets: [],
      subscriptions: expect.any(Array),
      streams: expect.any(Array),
      unread_msgs: expect.any(Object),
    },
    ...{ user_settings: expect.any(Object), user_topics: expect.any(Array), realm_users: expect.any(Array) },
    ...{ realm_non_active_users: expect.any(Array), cross_realm_bots: expect.any(Array), muted_users: [] },
    ...{ server_emoji_data_url: expect.any(String), realm_push_notifications_enabled: phones !== undefined },
    ...{ user_status: expect.any(Object), presences: expect.any(Object), drafts: [], channel_folders: [] },
    ...{ recent_private_conversations: [], realm_linkifiers: [], max_file_upload_size_mib: expect.any(Number) },
  });

  const emoji = JSON.parse((await app.file(snapshot.server_emoji_data_url)).text);
  expect(emoji.code_to_names['1f389']).toContain('tada');
  const custom = Object.values<Json>(snapshot.realm_emoji).find(({ name }) => name === 'custom');
  expect((await app.file(custom.source_url)).headers['content-type']).toMatch(/^image\//);
  for (const user of [...snapshot.realm_users, ...snapshot.cross_realm_bots]) {
    expect((await app.file(user.avatar_url)).headers['content-type']).toMatch(/^image\//);
  }
  expect((await app.file(settings.body.realm_icon)).headers['content-type']).toMatch(/^image\//);
  expect((await app.file(snapshot.realm_icon_url)).headers['content-type']).toMatch(/^image\//);

  const presence = await app.call('POST', '/users/me/presence', {
    ...{ last_update_id: -1, history_limit_days: 0, ping_only: false, status: 'active', new_user_input: true },
  });
  expect(presence).toMatchObject({ presence_last_update_id: expect.any(Number), presences: expect.any(Object) });
  const page = {
    num_before: 100,
    num_after: 100,
    client_gravatar: false,
    apply_markdown: true,
    allow_empty_topic_name: true,
  };
  for (const narrow of [
    [],
    [
      { operator: 'channel', operand: channel },
      { operator: 'topic', operand: 'welcome' },
    ],
    [{ operator: 'is', operand: 'mentioned' }],
    [{ operator: 'is', operand: 'dm' }],
    [{ operator: 'dm', operand: [member.id] }],
  ]) {
    const { messages, found_newest } = await app.call('GET', '/messages', { narrow, anchor: 'first_unread', ...page });
    expect([Array.isArray(messages), found_newest]).toEqual([true, true]);
  }
  const { messages } = await app.call('GET', '/messages', { narrow: [], anchor: 'newest', ...page });
  expect(messages.at(-1)).toMatchObject({ id: messageId, sender_id: member.id, flags: ['mentioned'] });
  await app.call('GET', `/messages/${messageId}`, { allow_empty_topic_name: true });
  await app.call('GET', `/users/me/${channel}/topics`, { allow_empty_topic_name: true });
  await app.call('GET', `/users/${member.id}/status`);
  await app.call('POST', '/messages/flags/narrow', {
    ...{ anchor: 'first_unread', num_before: 0, num_after: 1_000, include_anchor: true, op: 'add', flag: 'read' },
    narrow: [{ operator: 'channel', operand: channel }],
  });

  if (phones === undefined) {
    // The server has no push service: the app can register itself all the same.
    await app.call('POST', '/register_client_device');
  } else {
    const person = new Person(anonymous, { ...owner, apiKey: login.body.api_key });
    const registered = await registerApp(person, phones);
    await app.call('POST', '/mobile_push/register', registered.registration('fcm', phones.fcm.phone().token));
    await app.call('POST', '/mobile_push/e2ee/test_notification', { device_id: registered.deviceId });
    const other = await registerApp(person, phones);
    await app.call('POST', '/mobile_push/register', other.registration('apns', phones.apns.phone().token));
    await app.call('POST', '/remove_client_device', { device_id: other.deviceId });
  }
  // Apps of earlier versions.
  const token = phones?.fcm.phone().token ?? 'a token';
  await app.call('POST', '/users/me/android_gcm_reg_id', { token: token.replace(' ', '-') });
  await app.call('POST', '/users/me/apns_device_token', { token: 'ab'.repeat(32), appid: 'org.example.chat' });

  const { events } = await app.call('GET', '/events', {
    ...{ queue_id: snapshot.queue_id, last_event_id: snapshot.last_event_id, dont_block: true },
  });
  expect(events.map(({ type }: Json) => type)).toEqual(expect.arrayContaining(['update_message_flags', 'device']));
  await app.call('DELETE', '/users/me/android_gcm_reg_id', { token: token.replace(' ', '-') });
  await app.call('DELETE', '/users/me/apns_device_token', { token: 'ab'.repeat(32) });
  await app.call('DELETE', '/events', { queue_id: snapshot.queue_id });
  return app.failures;
}

test('an app signs in, reads its first view and registers for push notifications', async () => {
  await using phones = await startPhoneServices();
  expect(await start(phones)).toEqual([]);
}, 60_000);

test('an app starts on a server without push services', async () => {
  expect(await start(undefined)).toEqual([]);
}, 60_000);
