import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decideNotifications } from '../../src/messages/notifications/decision-worker.ts';
import { phoneMessageOf } from '../../src/messages/notifications/phone-message.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { Person } from '../helpers/person.ts';
import { type Phone, type PhoneServices, registerApp, startPhoneServices, TOPIC } from '../helpers/phone-services.ts';
import { startPushService } from '../helpers/push-service.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

let phones: PhoneServices;
let service: InProcess;
/** Time by which the clock of the service is ahead, in milliseconds. */
let ahead = 0;
/** Lines of the log of the service, from level "warn". */
const lines: string[] = [];

beforeAll(async () => {
  phones = await startPhoneServices();
  service = await startOnDatabaseOfRun({
    ...{ env: phones.env, now: () => new Date(Date.now() + ahead) },
    log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
  });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await phones[Symbol.asyncDispose]();
});

const direct = async (from: Person, to: readonly Person[], content = 'hello'): Promise<number> =>
  (await from.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content })).id;

/** Decides and delivers all notifications. */
async function deliver(): Promise<void> {
  await decideNotifications(service.app);
  // The worker of the service may have claimed some already: this waits for it.
  await service.pushing.deliverDue();
  await service.pushing.deliverDue();
}

/** Makes failed notifications due, and delivers them. */
async function retry(user: Person): Promise<void> {
  await service.app.db.$executeRaw`
    UPDATE notification SET next_attempt_at = now() - interval '1 second'
    WHERE user_id = ${user.id} AND transport = 'push' AND next_attempt_at IS NOT NULL`;
  await service.pushing.deliverDue();
}

const withToken = async (person: Person): Promise<Phone> => {
  const phone = phones.fcm.phone();
  await person.ok('POST', '/users/me/android_gcm_reg_id', { token: phone.token });
  return phone;
};

const withAppleToken = async (person: Person): Promise<Phone> => {
  const phone = phones.apns.phone();
  await person.ok('POST', '/users/me/apns_device_token', { token: phone.token, appid: TOPIC });
  return phone;
};

const dataOf = ({ received }: Phone): Json[] => received.map(({ body }) => body.message.data);

const devicesOf = async (person: Person): Promise<Json> =>
  (await person.ok('POST', '/register', { fetch_event_types: ['device'] })).devices;

/** Runs `run` while the clock of the service is ahead by some milliseconds. */
async function later(ms: number, run: () => Promise<unknown>): Promise<void> {
  ahead += ms;
  try {
    await run();
  } finally {
    ahead -= ms;
  }
}

/** Runs `run` while the database refuses to delete the devices of a user. */
async function withKeptDevices({ id }: Person, run: () => Promise<void>): Promise<void> {
  const { db } = service.app;
  await db.$executeRawUnsafe(`CREATE FUNCTION keep_device() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'This device is kept.'; END $$`);
  await db.$executeRawUnsafe(`CREATE TRIGGER keep_device BEFORE DELETE ON push_device
    FOR EACH ROW WHEN (OLD.user_id = ${id}) EXECUTE FUNCTION keep_device()`);
  try {
    await run();
  } finally {
    await db.$executeRawUnsafe('DROP FUNCTION keep_device CASCADE');
  }
}

/** Returns the entries of the log since a number of lines that have this message. */
const entriesSince = (count: number, message: string): Json[] =>
  lines.slice(count).flatMap((line) => {
    const entry: Json = JSON.parse(line);
    return entry.msg === message ? [entry] : [];
  });

/** The fields that all messages to a user have. */
const common = (person: Person) => ({
  ...{ realm_url: expect.stringMatching(/^http:/), realm_name: expect.any(String) },
  user_id: person.id,
});

describe('tokens of FCM', () => {
  test('an app gets each message with its ids, sender and text, and its removal when it is read elsewhere', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    const phone = await withToken(member);
    const id = await direct(owner, [member, guest], 'Are you **there**? :smile:');
    await deliver();
    expect(phone.received[0]?.body.message.android).toEqual({ priority: 'HIGH', ttl: '86400s' });
    const base = {
      realm_url: expect.stringMatching(/^http:/),
      realm_name: expect.any(String),
      user_id: `${member.id}`,
    };
    expect(dataOf(phone)).toEqual([
      {
        ...{ event: 'message', type: 'message', ...base, notification_id: expect.stringMatching(/^\d+$/) },
        ...{ message_id: `${id}`, sender_id: `${owner.id}`, sender_full_name: 'owner', recipient_type: 'direct' },
        sender_avatar_url: expect.stringMatching(/^http:.*\/avatar\//),
        recipient_user_ids: [owner.id, member.id, guest.id].toSorted((a, b) => a - b).join(','),
        ...{ content: 'Are you there? 🙂', time: expect.stringMatching(/^\d+$/) },
      },
    ]);
    await member.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await deliver();
    await deliver();
    expect(dataOf(phone).slice(1)).toEqual([{ event: 'remove', type: 'remove', ...base, message_ids: `${id}` }]);
    expect(phone.received[1]?.body.message.android.priority).toBe('NORMAL');
  });

  test('a message of a channel names its channel and topic', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'lounge', [owner, member]);
    const phone = await withToken(member);
    await say(owner, channel, 'lunch', '@**member** soup?');
    await deliver();
    expect(dataOf(phone)).toEqual([
      expect.objectContaining({
        ...{ recipient_type: 'channel', channel_id: `${channel}`, channel_name: 'lounge', topic: 'lunch' },
        content: '@member soup?',
      }),
    ]);
  });

  test('the largest message fits, whatever its characters', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const [phone, apple] = [await withToken(member), await withAppleToken(member)];
    const app = await registerApp(member, phones);
    const encrypted = phones.apns.phone();
    await member.ok('POST', '/mobile_push/register', app.registration('apns', encrypted.token));
    for (const text of ['"\\'.repeat(3_000), '€'.repeat(5_000), '\u{1F600}'.repeat(4_000)])
      await direct(owner, [member], text);
    await deliver();
    const sizes = (of: Phone, part: (body: Json) => Json) =>
      of.received.map(({ body }) => Buffer.byteLength(JSON.stringify(part(body))));
    expect(phone.received).toHaveLength(3);
    expect(Math.max(...sizes(phone, (body) => body.message.data))).toBeLessThanOrEqual(4_096);
    expect(apple.received).toHaveLength(3);
    expect(Math.max(...sizes(apple, (body) => body))).toBeLessThanOrEqual(4_096);
    expect(encrypted.received).toHaveLength(3);
    expect(Math.max(...sizes(encrypted, (body) => body))).toBeLessThanOrEqual(4_096);
  });

  test('a message to 500 people fits, without their ids, and its alert is bounded in bytes', async () => {
    const { organization, member } = await createOrganization({}, { on: service });
    const { app } = service;
    const row = await app.db.organization.findUniqueOrThrow({ where: { id: organization.id } });
    const user = await app.db.user.findFirstOrThrow({ where: { id: member.id } });
    const control = '\u0001'.repeat(600);
    const memberIds = Array.from({ length: 500 }, (_, i) => 2_000_000_000 + i);
    const made = (ids: number[]) => {
      const message = {
        ...{
          id: 1n,
          channel: null,
          topic: '',
          conversation: { memberIds: ids },
          senderId: user.id,
          sentAt: new Date(),
        },
        ...{ content: control, renderedContent: control },
      };
      const shown = { type: 'message', title: control, body: control };
      const names = new Map([[user.id, user]]);
      return phoneMessageOf(app, row, { id: 1n, userId: user.id }, { message, names, shown } as never);
    };
    const { fields, alert } = made(memberIds);
    expect(fields).toMatchObject({ recipient_type: 'direct' });
    expect(fields).not.toHaveProperty('recipient_user_ids');
    expect(Buffer.byteLength(JSON.stringify(fields))).toBeLessThanOrEqual(2_800);
    expect(Buffer.byteLength(JSON.stringify({ ...fields, aps: { alert, sound: 'default' } }))).toBeLessThanOrEqual(
      4_096,
    );
    expect(alert?.body.length).toBeGreaterThan(100);
    const few = made(memberIds.slice(0, 100)).fields;
    expect(few['recipient_user_ids']).toHaveLength(100);
    expect(Buffer.byteLength(JSON.stringify(few))).toBeLessThanOrEqual(2_800);
  });

  test('users of one app have separate registrations, and a removed token receives nothing', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    const phone = await withToken(member);
    await guest.ok('POST', '/users/me/android_gcm_reg_id', { token: phone.token });
    await member.ok('POST', '/users/me/android_gcm_reg_id', { token: phone.token });
    await direct(owner, [member, guest]);
    await deliver();
    expect(dataOf(phone).map(({ user_id }) => Number(user_id))).toHaveLength(2);
    await member.ok('DELETE', '/users/me/android_gcm_reg_id', { token: phone.token });
    await direct(owner, [member, guest]);
    await deliver();
    expect(dataOf(phone).slice(2)).toEqual([expect.objectContaining({ user_id: `${guest.id}` })]);
    const again = await member.rest('DELETE', '/users/me/android_gcm_reg_id', { token: phone.token });
    expect([again.status, again.body.msg]).toEqual([400, 'Token does not exist']);
  });

  test('the access token is requested once, and again when it is refused', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const all = await Promise.all(Array.from({ length: 5 }, () => withToken(member)));
    await direct(owner, [member]);
    await deliver();
    const before = phones.grants();
    await direct(owner, [member]);
    await deliver();
    expect(phones.grants()).toBe(before);
    phones.revoke();
    await direct(owner, [member]);
    await deliver();
    // After a failure, fewer requests are sent at a time.
    await retry(member);
    await retry(member);
    expect(phones.grants()).toBe(before + 1);
    for (const phone of all) expect(phone.received).toHaveLength(3);
  });
});

describe('tokens of APNs', () => {
  test('a device shows the message, and the app removes it when it is read elsewhere', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = await withAppleToken(member);
    const id = await direct(owner, [member], 'hello');
    await deliver();
    const [shown] = phone.received;
    expect(shown?.headers).toMatchObject({
      ...{ 'apns-topic': TOPIC, 'apns-push-type': 'alert', 'apns-priority': '10' },
      'apns-collapse-id': globalId('Message', id),
      'apns-expiration': expect.stringMatching(/^\d{10}$/),
    });
    expect(shown?.body).toEqual({
      aps: { alert: { title: 'owner', body: 'hello' }, sound: 'default' },
      ...{ type: 'message', ...common(member), message_id: id, notification_id: expect.any(String) },
      ...{ sender_id: owner.id, sender_full_name: 'owner', sender_avatar_url: expect.any(String) },
      ...{ recipient_type: 'direct', recipient_user_ids: [owner.id, member.id].toSorted((a, b) => a - b) },
      ...{ content: 'hello', time: expect.any(Number) },
    });
    await member.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await deliver();
    await deliver();
    const [, removal] = phone.received;
    expect(removal?.headers).toMatchObject({ 'apns-push-type': 'background', 'apns-priority': '5' });
    expect(removal?.body).toEqual({
      ...{ aps: { 'content-available': 1 }, type: 'remove', ...common(member), message_ids: [id] },
    });
  });

  test('a token in base64 is the same as in hexadecimal', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = await withAppleToken(member);
    const token = Buffer.from(phone.token, 'hex').toString('base64');
    await member.ok('POST', '/users/me/apns_device_token', { token, appid: TOPIC });
    await direct(owner, [member]);
    await deliver();
    expect(phone.received).toHaveLength(1);
    await member.ok('DELETE', '/users/me/apns_device_token', { token: phone.token.toUpperCase() });
  });

  test('the signature is renewed if it is refused, but not more often than every 20 minutes', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = await withAppleToken(member);
    const refused = { status: 403, body: { reason: 'ExpiredProviderToken' } };
    const attempt = async (reply: Phone['reply']) => {
      phone.reply = reply;
      await direct(owner, [member]);
      await deliver();
      await retry(member);
    };
    await attempt({ status: 200 });
    await attempt(refused);
    await attempt({ status: 200 });
    await later(25 * 60_000, async () => {
      await attempt(refused);
      await attempt({ status: 200 });
    });
    const signatures = phone.received.map(({ headers }) => headers.authorization);
    const [first, second] = [signatures[0], signatures.at(-1)];
    expect(second).not.toBe(first);
    expect(signatures).toEqual([first, first, first, second, second]);
  });

  test.for([
    ['', 'Empty or invalid length token'],
    ['x'.repeat(4_097), 'Empty or invalid length token'],
    ['not a token', 'Empty or invalid length token'],
    ['zz', 'Invalid APNS token'],
  ])('rejects the token %j', async ([token, message]) => {
    const { member } = await createOrganization({}, { on: service });
    const { status, body } = await member.rest('POST', '/users/me/apns_device_token', { token, appid: TOPIC });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', message]);
  });
});

describe('apps with a key', () => {
  test.for(['fcm', 'apns'] as const)('%s transports nothing that can be read', async (kind) => {
    const { owner, member } = await createOrganization({}, { on: service });
    const app = await registerApp(member, phones);
    const phone = phones[kind].phone();
    await member.ok('POST', '/mobile_push/register', app.registration(kind, phone.token));
    const id = await direct(owner, [member], 'a secret');
    await deliver();
    await member.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await deliver();
    await deliver();
    expect(JSON.stringify(phone.received.map(({ body }) => body))).not.toMatch(/secret|owner|message_id/);
    expect(app.decrypted(phone)).toEqual([
      {
        ...{ type: 'message', ...common(member), message_id: id, notification_id: expect.any(String) },
        ...{ sender_id: owner.id, sender_full_name: 'owner', sender_avatar_url: expect.any(String) },
        ...{ recipient_type: 'direct', recipient_user_ids: [owner.id, member.id].toSorted((a, b) => a - b) },
        ...{ content: 'a secret', time: expect.any(Number) },
      },
      { type: 'remove', ...common(member), message_ids: [id] },
    ]);
    if (kind === 'apns') {
      const alert = { alert: { title: 'New notification' }, sound: 'default', 'mutable-content': 1 };
      expect(phone.received[0]?.body.aps).toEqual(alert);
      expect(phone.received[1]?.body.aps).toEqual({ 'content-available': 1 });
    }
  });

  test('the state and the events show the registration', async () => {
    const { member } = await createOrganization({}, { on: service });
    const queue = await member.ok('POST', '/register', { event_types: ['device'] });
    expect(queue.devices).toEqual({});
    const app = await registerApp(member, phones);
    const phone = phones.fcm.phone();
    const registration = app.registration('fcm', phone.token);
    const none = { push_key_id: null, push_token_id: null, pending_push_token_id: null };
    const initial = { ...none, push_token_last_updated_timestamp: null, push_registration_error_code: null };
    expect(await devicesOf(member)).toEqual({ [app.deviceId]: initial });
    await member.ok('POST', '/mobile_push/register', registration);
    // Repeated: only the time changes.
    await later(20_000, () => member.ok('POST', '/mobile_push/register', registration));
    await member.ok('POST', '/remove_client_device', { device_id: app.deviceId });
    const { events } = await member.ok('GET', '/events', { queue_id: queue.queue_id, last_event_id: -1 });
    expect(events).toEqual([
      { id: expect.any(Number), type: 'device', op: 'add', device_id: app.deviceId },
      {
        ...{ id: expect.any(Number), type: 'device', op: 'update', device_id: app.deviceId },
        ...{ push_key_id: registration['push_key_id'], push_token_id: registration['token_id'] },
        push_token_last_updated_timestamp: expect.any(Number),
      },
      {
        ...{ id: expect.any(Number), type: 'device', op: 'update', device_id: app.deviceId },
        push_token_last_updated_timestamp: expect.any(Number),
      },
      { id: expect.any(Number), type: 'device', op: 'remove', device_id: app.deviceId },
    ]);
    expect(await devicesOf(member)).toEqual({});
  });

  test('a key and a token are replaced separately', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const app = await registerApp(member, phones);
    const [first, second] = [phones.fcm.phone(), phones.fcm.phone()];
    await member.ok('POST', '/mobile_push/register', app.registration('fcm', first.token));
    const { push_key: _key, push_key_id: _id, ...token } = app.registration('fcm', second.token);
    await member.ok('POST', '/mobile_push/register', token);
    await direct(owner, [member]);
    await deliver();
    expect([first.received.length, app.decrypted(second).length]).toEqual([0, 1]);
    const key = Buffer.concat([Buffer.from([0x31]), Buffer.alloc(32, 7)]).toString('base64');
    await member.ok('POST', '/mobile_push/register', {
      device_id: app.deviceId,
      push_key_id: 4294967295,
      push_key: key,
    });
    await direct(owner, [member]);
    await deliver();
    expect(second.received[1]?.body.message.data.push_key_id).toBe('4294967295');
  });

  test('a token moves to the app that registers it last, and is not registered a second time without encryption', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = await withToken(member);
    const [old, current] = [await registerApp(member, phones), await registerApp(member, phones)];
    await member.ok('POST', '/mobile_push/register', old.registration('fcm', phone.token));
    await member.ok('POST', '/mobile_push/register', current.registration('fcm', phone.token));
    await member.ok('POST', '/users/me/android_gcm_reg_id', { token: phone.token });
    await direct(owner, [member]);
    await deliver();
    expect(current.decrypted(phone)).toHaveLength(1);
    const devices = await devicesOf(member);
    expect(devices[old.deviceId].push_token_id).toBeNull();
    expect(devices[current.deviceId].push_token_id).not.toBeNull();
  });

  test('a registration that cannot be decrypted leaves the former token, and its error is in the state', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const app = await registerApp(member, phones);
    const [phone, other] = [phones.fcm.phone(), phones.fcm.phone()];
    await member.ok('POST', '/mobile_push/register', app.registration('fcm', phone.token));
    const { push_token_id: tokenId } = (await devicesOf(member))[app.deviceId];
    const given = app.registration('fcm', other.token);
    const old = Math.floor(Date.now() / 1000) - 2 * 86_400;
    for (const [error, changed] of [
      ['INVALID_BOUNCER_PUBLIC_KEY', { ...given, bouncer_public_key: Buffer.alloc(32, 1).toString('base64') }],
      ['BAD_REQUEST', { ...given, encrypted_push_registration: Buffer.alloc(90).toString('base64') }],
      ['BAD_REQUEST', app.registration('fcm', other.token, { token: 'another' })],
      ['BAD_REQUEST', app.registration('fcm', other.token, { token_kind: 'apns' })],
      ['REQUEST_EXPIRED', app.registration('fcm', other.token, { timestamp: old })],
    ] as const) {
      await member.ok('POST', '/mobile_push/register', changed);
      expect((await devicesOf(member))[app.deviceId]).toMatchObject({
        ...{ push_registration_error_code: error, push_token_id: tokenId, pending_push_token_id: given['token_id'] },
      });
    }
    await direct(owner, [member]);
    await deliver();
    expect([phone.received.length, other.received.length]).toEqual([1, 0]);
    await member.ok('POST', '/mobile_push/register', given);
    expect((await devicesOf(member))[app.deviceId]).toMatchObject({
      ...{ push_registration_error_code: null, push_token_id: given['token_id'], pending_push_token_id: null },
    });
  });

  test('rejects invalid values', async () => {
    const { member, guest } = await createOrganization({}, { on: service });
    const app = await registerApp(member, phones);
    const given = app.registration('fcm', phones.fcm.phone().token);
    const refusal = async (values: Json, by = member) => {
      const { status, body } = await by.rest('POST', '/mobile_push/register', values);
      return [status, body.code, body.msg];
    };
    const { push_key: _key, ...withoutKey } = given;
    const { token_id: _id, ...withoutTokenId } = given;
    const missing = 'Missing parameters: must provide either all push key fields, all token fields, or both.';
    const { push_key: _k, push_key_id: _i, ...tokenOnly } = given;
    for (const values of [withoutKey, withoutTokenId, { device_id: app.deviceId }, tokenOnly]) {
      expect(await refusal(values)).toEqual([400, 'BAD_REQUEST', missing]);
    }
    const notAKey = Buffer.alloc(33, 0x32).toString('base64');
    for (const [changes, message] of [
      [{ push_key: 'abcd' }, 'Invalid `push_key`'],
      [{ push_key: '@abcdefg' }, 'Invalid `push_key`'],
      [{ push_key: notAKey }, 'Invalid `push_key`'],
      [{ push_key_id: -1 }, 'Invalid push_key_id: Not a valid unsigned 32-bit integer'],
      [{ push_key_id: 4294967296 }, 'Invalid push_key_id: Not a valid unsigned 32-bit integer'],
      [{ token_id: '@abcdefg' }, '`token_id` is not Base64 encoded'],
      [{ device_id: app.deviceId + 1_000 }, 'Invalid `device_id`'],
    ] as const) {
      expect(await refusal({ ...given, ...changes })).toEqual([400, 'BAD_REQUEST', message]);
    }
    expect(await refusal(given, guest)).toEqual([400, 'BAD_REQUEST', 'Invalid `device_id`']);
    const removed = await guest.rest('POST', '/remove_client_device', { device_id: app.deviceId });
    expect(removed.body.msg).toBe('Invalid `device_id`');
  });

  test('GraphQL registers, configures and removes the same devices', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const queue = await member.ok('POST', '/register', { event_types: ['device'] });
    const { pushDevice } = await member.mutate(
      'registerClientDevice',
      { name: 'My phone' },
      'pushDevice { id databaseId kind }',
    );
    expect(pushDevice).toMatchObject({ databaseId: expect.any(Number), kind: 'NONE' });
    const phone = phones.fcm.phone();
    const app = await registerApp(member, phones);
    const given = app.registration('fcm', phone.token);
    const selected = 'pushDevice { kind endpoint pushKeyId tokenId pendingTokenId registrationError }';
    const input = {
      pushDeviceId: pushDevice.id,
      ...{ pushKeyId: String(given['push_key_id']), pushKey: given['push_key'], tokenKind: 'FCM' },
      ...{ tokenId: given['token_id'], registrationKey: given['bouncer_public_key'] },
      encryptedRegistration: given['encrypted_push_registration'],
    };
    expect(await member.mutate('configurePushDevice', input, selected)).toEqual({
      pushDevice: {
        ...{ kind: 'FCM', endpoint: null, pushKeyId: String(given['push_key_id']), tokenId: given['token_id'] },
        ...{ pendingTokenId: null, registrationError: null },
      },
    });
    await direct(owner, [member]);
    await deliver();
    expect(app.decrypted(phone)).toHaveLength(1);
    await member.mutate('removePushDevice', { pushDeviceId: pushDevice.id }, 'pushDeviceId');
    const { events } = await member.ok('GET', '/events', { queue_id: queue.queue_id, last_event_id: -1 });
    expect(events.map(({ op, device_id }: Json) => [op, device_id])).toEqual([
      ['add', pushDevice.databaseId],
      ['add', app.deviceId],
      ['update', pushDevice.databaseId],
      ['remove', pushDevice.databaseId],
    ]);
    const apple = phones.apns.phone();
    const token = { kind: 'APNS', token: apple.token, appId: TOPIC, name: 'My other phone' };
    const registered = await member.mutate('registerPushDevice', token, 'pushDevice { name kind endpoint }');
    expect(registered).toEqual({ pushDevice: { name: 'My other phone', kind: 'APNS', endpoint: null } });
    await direct(owner, [member]);
    await deliver();
    expect(apple.received).toHaveLength(1);
  });
});

describe('delivery', () => {
  test.for([
    ['fcm', { status: 404, body: { error: { status: 'NOT_FOUND', details: [{ errorCode: 'UNREGISTERED' }] } } }],
    [
      'fcm',
      { status: 403, body: { error: { status: 'PERMISSION_DENIED', details: [{ errorCode: 'SENDER_ID_MISMATCH' }] } } },
    ],
    ['fcm', { status: 400, body: { error: { details: [{ fieldViolations: [{ field: 'message.token' }] }] } } }],
    ['apns', { status: 410, body: { reason: 'Unregistered', timestamp: Date.now() + 60_000 } }],
    ['apns', { status: 400, body: { reason: 'BadDeviceToken' } }],
  ] as const)('%s: a token is removed after %j', async ([kind, reply]) => {
    const { owner, member } = await createOrganization({}, { on: service });
    const plain = kind === 'fcm' ? await withToken(member) : await withAppleToken(member);
    const app = await registerApp(member, phones);
    const encrypted = phones[kind].phone();
    await member.ok('POST', '/mobile_push/register', app.registration(kind, encrypted.token));
    [plain.reply, encrypted.reply] = [reply, reply];
    await direct(owner, [member]);
    await deliver();
    const { pushDevices } = await member.query('{ pushDevices(first: 10) { nodes { kind databaseId } } }');
    expect(pushDevices.nodes).toEqual([{ kind: 'NONE', databaseId: app.deviceId }]);
    expect((await devicesOf(member))[app.deviceId].push_token_id).toBeNull();
    await direct(owner, [member]);
    await deliver();
    expect([plain.attempts, encrypted.attempts]).toEqual([1, 1]);
  });

  test('a token that was registered again after APNs had found it ended stays', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = await withAppleToken(member);
    phone.reply = { status: 410, body: { reason: 'Unregistered', timestamp: Date.now() - 3_600_000 } };
    await direct(owner, [member]);
    await deliver();
    phone.reply = { status: 200 };
    await retry(member);
    expect(phone.received).toHaveLength(1);
  });

  test.for(['a token', 'an app with a key'])('%s that is registered again later stays as well', async (kind) => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = phones.apns.phone();
    const app = kind === 'a token' ? undefined : await registerApp(member, phones);
    const register = () =>
      app === undefined
        ? member.ok('POST', '/users/me/apns_device_token', { token: phone.token, appid: TOPIC })
        : member.ok('POST', '/mobile_push/register', app.registration('apns', phone.token));
    await register();
    await later(20_000, register);
    phone.reply = { status: 410, body: { reason: 'Unregistered', timestamp: Date.now() + 10_000 } };
    await direct(owner, [member]);
    await deliver();
    phone.reply = { status: 200 };
    await retry(member);
    expect(phone.received).toHaveLength(1);
  });

  test.for([
    ['fcm', { status: 429 }],
    ['apns', { status: 429, body: { reason: 'TooManyRequests' } }],
    ['apns', { status: 410, body: { reason: 'Unregistered', timestamp: Date.now() - 3_600_000 } }],
    ['apns', { status: 403, body: { reason: 'InvalidProviderToken' } }, 'com.example.other'],
  ] as const)('%s: %j about one app delays no other', async ([kind, reply, appid = TOPIC]) => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    const failing = phones[kind].phone();
    failing.reply = reply;
    if (kind === 'fcm') await member.ok('POST', '/users/me/android_gcm_reg_id', { token: failing.token });
    else await member.ok('POST', '/users/me/apns_device_token', { token: failing.token, appid });
    const register = kind === 'fcm' ? withToken : withAppleToken;
    const others = await Promise.all(Array.from({ length: 5 }, () => register(guest)));
    await direct(owner, [member]);
    await deliver();
    expect(failing.attempts).toBe(1);
    await direct(owner, [guest]);
    await deliver();
    expect(others.map(({ received }) => received.length)).toEqual(others.map(() => 1));
  });

  test('a token that cannot be deleted now makes no other app receive a message twice', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const [gone, other] = [await withToken(member), await withToken(member)];
    gone.reply = { status: 404, body: { error: { details: [{ errorCode: 'UNREGISTERED' }] } } };
    await withKeptDevices(member, async () => {
      await direct(owner, [member]);
      await deliver();
      await retry(member);
    });
    expect(other.received).toHaveLength(1);
    await direct(owner, [member]);
    await deliver();
    expect(await service.app.db.pushDevice.count({ where: { userId: member.id } })).toBe(1);
  });

  test('a push service that fails is logged once until it accepts a message', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = await withToken(member);
    const attempt = async (reply: Phone['reply']) => {
      phone.reply = reply;
      await direct(owner, [member]);
      await deliver();
      await retry(member);
    };
    await attempt({ status: 200 });
    const before = lines.length;
    const logged = () => entriesSince(before, 'push service failed, retrying');
    await attempt({ status: 403, body: { error: { status: 'PERMISSION_DENIED' } } });
    await attempt({ status: 403, body: { error: { status: 'PERMISSION_DENIED' } } });
    expect(logged()).toEqual([
      expect.objectContaining({ service: 'fcm', reason: 'HTTP status 403, PERMISSION_DENIED', level: 40 }),
    ]);
    await attempt({ status: 200 });
    await attempt({ status: 503 });
    expect(logged()).toHaveLength(2);
  });

  test.for([
    ['fcm', 429],
    ['fcm', 500],
    ['fcm', 503],
    ['apns', 429],
    ['apns', 500],
  ] as const)('%s: status %d delays the next attempt by Retry-After', async ([kind, status]) => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = kind === 'fcm' ? await withToken(member) : await withAppleToken(member);
    phone.reply = { status, headers: { 'retry-after': '600' } };
    await direct(owner, [member]);
    await deliver();
    await service.pushing.deliverDue();
    expect(phone.attempts).toBe(1);
    const [row] = await service.app.db.$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM next_attempt_at - now())::float AS seconds FROM notification
      WHERE user_id = ${member.id} AND transport = 'push'`;
    expect(row?.seconds).toBeGreaterThan(590);
    expect(row?.seconds).toBeLessThan(610);
    phone.reply = { status: 200 };
    await retry(member);
    expect(phone.received).toHaveLength(1);
  });

  test.for(['fcm', 'apns'] as const)('%s: a broken connection or GOAWAY loses no message', async (kind) => {
    const { owner, member } = await createOrganization({}, { on: service });
    const phone = kind === 'fcm' ? await withToken(member) : await withAppleToken(member);
    await direct(owner, [member], 'first');
    await deliver();
    const before = phones[kind].connections();
    // The message has arrived, but the response is lost: it is sent again, with the same id.
    let isCut = false;
    phone.before = () => {
      if (!isCut) phones[kind].cut();
      isCut = true;
    };
    await direct(owner, [member], 'second');
    await deliver();
    await retry(member);
    const idOf = ({ body }: Phone['received'][number]): string => (body.message?.data ?? body).notification_id;
    const ids = phone.received.map(idOf);
    expect(ids).toHaveLength(3);
    expect(ids[1]).toBe(ids[2]);
    expect(phones[kind].connections()).toBe(before + 1);
    // A request in progress ends, and the next one uses another connection.
    phone.before = () => phones[kind].goAway();
    await direct(owner, [member], 'third');
    await deliver();
    await retry(member);
    phone.before = undefined;
    // The response to the third message can arrive before GOAWAY. Until then the connection can be used.
    await expect.poll(() => phones[kind].openConnections()).toBe(0);
    await direct(owner, [member], 'fourth');
    await deliver();
    await retry(member);
    expect(new Set(phone.received.map(idOf)).size).toBe(4);
    expect(phones[kind].connections()).toBe(before + 2);
  });

  test('a service that does not respond delays no browser', async () => {
    await using pushes = await startPushService();
    const { owner, member } = await createOrganization({}, { on: service });
    const [phone, browser] = [await withToken(member), await pushes.register(member)];
    phone.reply = 'hang';
    await direct(owner, [member]);
    await decideNotifications(service.app);
    const all = service.pushing.deliverDue();
    await expect.poll(() => browser.received.length).toBe(1);
    phones.fcm.cut();
    await all;
    phone.reply = { status: 200 };
    await retry(member);
    expect([phone.received.length, browser.received.length]).toEqual([1, 1]);
  });

  test('nothing is sent after access is lost, or after the API key has ended', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'secret', [owner, member], { invite_only: true });
    const [phone, other] = [await withToken(member), await withToken(guest)];
    phone.reply = { status: 503 };
    await say(owner, channel, 'topic', '@**member** left');
    await deliver();
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [member.id] });
    phone.reply = { status: 200 };
    await deliver();
    await retry(member);
    expect(dataOf(phone).filter(({ type }) => type === 'message')).toEqual([]);
    await guest.ok('POST', '/users/me/api_key/regenerate');
    await direct(owner, [guest]);
    await deliver();
    expect(other.attempts).toBe(0);
  });

  test('an app whose API key has ended is removed from the state', async () => {
    const { member } = await createOrganization({}, { on: service });
    const app = await registerApp(member, phones);
    await member.ok('POST', '/users/me/api_key/regenerate');
    ahead += 3_700_000;
    try {
      await service.pushing.deliverDue();
    } finally {
      ahead = 0;
    }
    expect(await service.app.db.pushDevice.findMany({ where: { id: app.deviceId } })).toEqual([]);
    const logged = await service.app.db.$queryRaw<{ op: string }[]>`
      SELECT op FROM event WHERE type = 'device' AND user_ids @> ARRAY[${member.id}::int] ORDER BY id`;
    expect(logged.map(({ op }) => op)).toEqual(['add', 'remove']);
  });

  test('an app that cannot be deleted delays neither the other organizations nor any message', async () => {
    const [first, second] = await Promise.all([1, 2].map(() => createOrganization({}, { on: service })));
    if (first === undefined || second === undefined) throw new Error('There is no organization');
    const apps = [await registerApp(first.member, phones), await registerApp(second.member, phones)];
    for (const { member } of [first, second]) await member.ok('POST', '/users/me/api_key/regenerate');
    const phone = await withToken(second.guest);
    const before = lines.length;
    await withKeptDevices(first.member, () =>
      later(8_000_000, async () => {
        await direct(second.owner, [second.guest]);
        await deliver();
      }),
    );
    expect(phone.received).toHaveLength(1);
    const left = await service.app.db.pushDevice.findMany({ where: { id: { in: apps.map((app) => app.deviceId) } } });
    expect(left.map(({ id }) => id)).toEqual([apps[0]?.deviceId]);
    expect(entriesSince(before, 'ended devices could not be deleted')).toEqual([
      expect.objectContaining({ organization: first.organization.id }),
    ]);
  });

  test('texts and names are encrypted or not sent, if the organization requires it', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    await owner.ok('PATCH', '/realm', { require_e2ee_push_notifications: true });
    const [plain, apple] = [await withToken(member), await withAppleToken(member)];
    const app = await registerApp(member, phones);
    const encrypted = phones.fcm.phone();
    await member.ok('POST', '/mobile_push/register', app.registration('fcm', encrypted.token));
    const id = await direct(owner, [member], 'a secret');
    await deliver();
    expect(dataOf(plain)).toEqual([expect.objectContaining({ content: 'New message', message_id: `${id}` })]);
    expect(JSON.stringify([plain.received, apple.received])).not.toMatch(/secret|"owner"|sender/);
    expect(apple.received[0]?.body.aps.alert.body).toBe('New message');
    expect(app.decrypted(encrypted)).toEqual([expect.objectContaining({ content: 'a secret' })]);
  });
});

describe('test notifications', () => {
  test('reach the selected app, or all', async () => {
    const { member } = await createOrganization({}, { on: service });
    const [plain, apple] = [await withToken(member), await withAppleToken(member)];
    const app = await registerApp(member, phones);
    const encrypted = phones.fcm.phone();
    await member.ok('POST', '/mobile_push/register', app.registration('fcm', encrypted.token));
    await member.ok('POST', '/mobile_push/test_notification', { token: plain.token });
    expect(dataOf(plain)).toEqual([expect.objectContaining({ event: 'test', user_id: `${member.id}` })]);
    await member.ok('POST', '/mobile_push/test_notification');
    expect([plain, apple, encrypted].map(({ received }) => received.length)).toEqual([2, 1, 0]);
    await member.ok('POST', '/mobile_push/e2ee/test_notification', { device_id: app.deviceId });
    await member.ok('POST', '/mobile_push/e2ee/test_notification');
    expect(app.decrypted(encrypted)).toEqual(
      Array.from({ length: 2 }, () => ({ type: 'test', ...common(member), time: expect.any(Number) })),
    );
    expect(await member.mutate('sendTestNotification', {}, 'sentCount')).toEqual({ sentCount: 3 });
  });

  test('reach a token in base64, and no app whose API key has ended', async () => {
    const { member } = await createOrganization({}, { on: service });
    const phone = await withAppleToken(member);
    const token = Buffer.from(phone.token, 'hex').toString('base64');
    await member.ok('POST', '/mobile_push/test_notification', { token });
    await member.ok('POST', '/mobile_push/test_notification', { token: phone.token.toUpperCase() });
    expect(phone.received).toHaveLength(2);
    const { api_key: apiKey } = await member.ok('POST', '/users/me/api_key/regenerate');
    const renewed = new Person(member, { ...member, apiKey });
    for (const [given, code] of [
      [{ token: phone.token }, 'BAD_REQUEST'],
      [{}, 'NO_ACTIVE_PUSH_DEVICE'],
    ] as const) {
      const { status, body } = await renewed.rest('POST', '/mobile_push/test_notification', given);
      expect([status, body.code]).toEqual([400, code]);
    }
    expect(phone.attempts).toBe(2);
  });

  test.for([
    [{ status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } }, 400, 'PUSH_SERVICE_REFUSED'],
    [{ status: 403, body: { error: { status: 'PERMISSION_DENIED' } } }, 400, 'PUSH_SERVICE_REFUSED'],
    [{ status: 500 }, 503, 'REQUEST_TIMEOUT'],
  ] as const)('log why a push service did not accept them: %j', async ([reply, status, code]) => {
    const { member } = await createOrganization({}, { on: service });
    const phone = await withToken(member);
    phone.reply = reply;
    const before = lines.length;
    const answer = await member.rest('POST', '/mobile_push/test_notification');
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    const reason = expect.stringContaining(`HTTP status ${reply.status}`);
    expect(entriesSince(before, 'test notification was not accepted')).toEqual([
      expect.objectContaining({ service: 'fcm', reason, device: expect.any(Number), level: 40 }),
    ]);
  });

  test('are refused without an app that can receive them', async () => {
    const { member } = await createOrganization({}, { on: service });
    const refusal = async (path: string, values: Json = {}) => {
      const { status, body } = await member.rest('POST', `/mobile_push/${path}`, values);
      return [status, body.code, body.msg];
    };
    const none = [400, 'NO_ACTIVE_PUSH_DEVICE', 'No active registered push device'];
    expect(await refusal('test_notification')).toEqual(none);
    expect(await refusal('e2ee/test_notification')).toEqual(none);
    expect(await refusal('e2ee/test_notification', { device_id: 1_000_000 })).toEqual(none);
    expect(await refusal('test_notification', { token: 'x' })).toEqual([400, 'BAD_REQUEST', 'Device not recognized']);
    const phone = await withToken(member);
    phone.reply = { status: 500 };
    expect((await refusal('test_notification'))[0]).toBe(503);
    phone.reply = { status: 404, body: { error: { details: [{ errorCode: 'UNREGISTERED' }] } } };
    expect(await refusal('test_notification')).toEqual(none);
  });
});

test('a server with push services says so', async () => {
  const { owner, member } = await createOrganization({}, { on: service });
  expect((await member.ok('GET', '/server_settings')).push_notifications_enabled).toBe(true);
  const { realm_push_notifications_enabled } = await owner.ok('POST', '/register', { fetch_event_types: ['realm'] });
  expect(realm_push_notifications_enabled).toBe(true);
  const { serverSettings } = await member.query('{ serverSettings { pushNotificationsEnabled } }');
  expect(serverSettings.pushNotificationsEnabled).toBe(true);
});
