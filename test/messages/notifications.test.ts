import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { FailuresByOrganization } from '../../src/events/background-reader.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { decideNotifications } from '../../src/messages/notifications/decision-worker.ts';
import { isSignedIn } from '../../src/messages/notifications/devices.ts';
import { writeDueEmails } from '../../src/messages/notifications/email-worker.ts';
import { purgeNotifications } from '../../src/messages/notifications/outbox.ts';
import { pushMessages } from '../../src/platform/metrics.ts';
import { globalId } from '../helpers/global-ids.ts';
import { send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { type Mailbox, mailsTo, openMailbox } from '../helpers/mailbox.ts';
import type { Person } from '../helpers/person.ts';
import { newDeviceKeys, type PushService, REGISTER, startPushService } from '../helpers/push-service.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

let service: InProcess;
let pushes: PushService;
let mailbox: Mailbox;
/** Time by which the clock of the service is ahead, in milliseconds. */
let ahead = 0;

beforeAll(async () => {
  [mailbox, pushes] = await Promise.all([openMailbox(), startPushService()]);
  service = await startOnDatabaseOfRun({ env: { SMTP_URL: mailbox.url }, now: () => new Date(Date.now() + ahead) });
});
afterAll(async () => {
  await pushes[Symbol.asyncDispose]();
  await mailbox[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

afterEach(() => vi.restoreAllMocks());

const direct = async (from: Person, to: readonly Person[], content = 'hello'): Promise<number> =>
  (await from.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content })).id;

/** Decides and delivers all notifications. */
async function deliver(): Promise<void> {
  await decideNotifications(service.app);
  // The worker of the service may have claimed some already: this waits for it.
  await service.pushing.deliverDue();
  await service.pushing.deliverDue();
}

describe('push notifications', () => {
  test('a direct message reaches each device, encrypted and signed', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const devices = [await pushes.register(member, 'A'), await pushes.register(member, 'B')];
    const id = await direct(owner, [member], 'Are you **there**? :smile:');
    await deliver();
    for (const { received } of devices) {
      expect(received).toHaveLength(1);
      expect(received[0]?.message).toEqual({
        type: 'message',
        id: expect.stringMatching(/^\d+$/),
        messageId: globalId('Message', id),
        reason: 'direct',
        title: 'owner',
        body: 'Are you there? 🙂',
        icon: expect.stringMatching(/^http:.*\/avatar\//),
        url: expect.stringMatching(new RegExp(`^http://.*/#narrow/dm/.*/near/${id}$`)),
        sentAt: expect.any(Number),
      });
      expect(received[0]?.headers).toMatchObject({ ttl: '86400', urgency: 'high', 'content-encoding': 'aes128gcm' });
    }
  });

  test('reading a message removes its notification from each device, and nothing more is sent', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const device = await pushes.register(member);
    const id = await direct(owner, [member]);
    await deliver();
    await member.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    await deliver();
    await deliver();
    expect(device.received.map(({ message }) => message)).toEqual([
      expect.objectContaining({ type: 'message' }),
      { type: 'removal', messageIds: [globalId('Message', id)] },
    ]);
  });

  test('a message that is read, deleted or out of reach before the delivery is not sent', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'secret', [owner, member], { invite_only: true });
    const device = await pushes.register(member);
    device.status = 503;
    const read = await direct(owner, [member], 'read');
    const deleted = await direct(owner, [member], 'deleted');
    await say(owner, channel, 'topic', `@**member** left`);
    const kept = await direct(owner, [member], 'kept');
    // All are decided, and fail.
    await deliver();
    await member.ok('POST', '/messages/flags', { messages: [read], op: 'add', flag: 'read' });
    await owner.ok('DELETE', `/messages/${deleted}`);
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [member.id] });
    device.status = 201;
    await service.app.db
      .$executeRaw`UPDATE notification SET next_attempt_at = now() - interval '1 second' WHERE user_id = ${member.id}`;
    await deliver();
    const messages = device.received.map(({ message }) => message);
    expect(messages.flatMap(({ messageId }) => messageId ?? [])).toEqual([globalId('Message', kept)]);
  });

  test('a device that the push service does not know is deleted', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const [gone, present] = [await pushes.register(member, 'gone'), await pushes.register(member, 'present')];
    // The signature is refused, for example because a clock is wrong: the device still exists.
    const refusing = await pushes.register(member, 'refusing');
    [gone.status, refusing.status] = [410, 403];
    await direct(owner, [member]);
    await deliver();
    expect(present.received).toHaveLength(1);
    const { pushDevices } = await member.query('{ pushDevices(first: 10) { nodes { name lastSentAt } } }');
    expect(pushDevices.nodes).toEqual([
      { name: 'refusing', lastSentAt: null },
      { name: 'present', lastSentAt: expect.any(String) },
    ]);
  });

  test('a device that does not respond delays no other user, and messages that were not sent to it keep their attempts', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    const [hanging, other] = [await pushes.register(member), await pushes.register(guest)];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    hanging.status = 503;
    let arrived = false;
    hanging.before = () => {
      arrived = true;
      return released;
    };
    await direct(owner, [member]);
    const second = await direct(owner, [member]);
    await decideNotifications(service.app);
    const all = service.pushing.deliverDue();
    await expect.poll(() => arrived).toBe(true);
    await direct(owner, [guest]);
    await decideNotifications(service.app);
    void service.pushing.deliverDue();
    await expect.poll(() => other.received.length).toBe(1);
    release();
    await all;
    const stored = await service.app.db.notification.findMany({
      where: { organizationId: organization.id, userId: member.id, messageId: second, transport: 'push' },
    });
    expect(stored.map(({ attempts }) => attempts)).toEqual([0]);
  });

  test('a failed delivery is repeated, only to the devices that have not received it', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const [first, second] = [await pushes.register(member), await pushes.register(member)];
    second.status = 503;
    await direct(owner, [member]);
    await deliver();
    second.status = 201;
    await service.app.db
      .$executeRaw`UPDATE notification SET next_attempt_at = now() - interval '1 second' WHERE user_id = ${member.id}`;
    await deliver();
    expect([first.received.length, second.received.length]).toEqual([1, 1]);
  });

  test('a device receives nothing after its API key was replaced', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const device = await pushes.register(member);
    await member.ok('POST', '/users/me/api_key/regenerate');
    await direct(owner, [member]);
    await deliver();
    expect(device.received).toEqual([]);
  });

  test('a device of a user who was deactivated before the delivery receives nothing', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    const devices = [await pushes.register(member), await pushes.register(guest)];
    for (const device of devices) device.status = 503;
    for (const person of [member, guest]) await direct(owner, [person]);
    await deliver();
    await owner.ok('DELETE', `/users/${guest.id}`);
    for (const device of devices) device.status = 201;
    await service.app.db.$executeRaw`
      UPDATE notification SET next_attempt_at = now() - interval '1 second' WHERE realm_id = ${organization.id} AND transport = 'push'`;
    await deliver();
    const shown = devices.map(({ received }) => received.filter(({ message }) => message.type === 'message').length);
    expect(shown).toEqual([1, 0]);
  });

  describe('a device that was registered with a named API key', () => {
    const registered = async (more: object = {}) => {
      const made = await createOrganization({}, { on: service });
      const input = { name: 'Phone', scopes: ['READ', 'WRITE'], ...more };
      const { secret, apiKey } = await made.member.mutate('createApiKey', input, 'secret apiKey { id }');
      const { device, subscription } = pushes.reserve();
      const { p256dh: publicKey, auth: authSecret } = subscription.keys;
      const given = { endpoint: device.endpoint, publicKey, authSecret, name: 'Phone' };
      const document =
        'mutation ($input: RegisterPushDeviceInput!) { registerPushDevice(input: $input) { __typename } }';
      const { data } = await made.member.as(`Bearer ${secret}`).graphql(document, { input: given });
      expect(data.registerPushDevice.__typename).toBe('RegisterPushDevicePayload');
      const devices = () => service.app.db.pushDevice.count({ where: { organizationId: made.organization.id } });
      const send = async () => {
        await direct(made.owner, [made.member]);
        await deliver();
        return device.received.length;
      };
      return { ...made, apiKeyId: apiKey.id, device, devices, send };
    };
    const purge = () => {
      const now = service.app.now();
      return purgeNotifications(service.app.db, now, isSignedIn(now, Prisma.sql`d.realm_id`));
    };

    test('receives messages until the key is revoked', async () => {
      const { member, apiKeyId, devices, send } = await registered();
      await purge();
      expect([await devices(), await send()]).toEqual([1, 1]);
      await member.mutate('revokeApiKey', { apiKeyId }, '__typename');
      expect(await send()).toBe(1);
      await purge();
      expect(await devices()).toBe(0);
    });

    test('receives messages until the key expires', async () => {
      const expiresAt = new Date(service.app.now().getTime() + 3_600_000).toISOString();
      const { devices, send } = await registered({ expiresAt });
      expect(await send()).toBe(1);
      ahead += 3_700_000;
      expect(await send()).toBe(1);
      await purge();
      expect(await devices()).toBe(0);
    });
  });

  test('a message that the push service refuses is not tried again, and is not shown as sent', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const device = await pushes.register(member);
    device.status = 400;
    const counted = async (outcome: string) => {
      const { values } = await pushMessages.get();
      return values.find(({ labels }) => labels.outcome === outcome)?.value;
    };
    const before = [await counted('refused'), await counted('sent')];
    await direct(owner, [member]);
    await deliver();
    expect([await counted('refused'), await counted('sent')]).toEqual([Number(before[0]) + 1, before[1]]);
    const { pushDevices } = await member.query('{ pushDevices(first: 10) { nodes { lastSentAt } } }');
    expect(pushDevices.nodes).toEqual([{ lastSentAt: null }]);
    device.status = 201;
    await direct(owner, [member]);
    await deliver();
    expect(await counted('sent')).toBe(Number(before[1]) + 1);
    expect(device.received).toHaveLength(1);
  });

  test('a message that is given up is logged', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    const device = await pushes.register(member);
    device.status = 503;
    const warn = vi.spyOn(service.app.log, 'warn');
    const logged = () => warn.mock.calls.filter(([, text]) => text?.startsWith('push notifications given up'));
    await direct(owner, [member]);
    await direct(owner, [member]);
    await deliver();
    expect(logged()).toEqual([]);
    await service.app.db.$executeRaw`
      UPDATE notification SET next_attempt_at = now() - interval '1 second', attempts = 7 WHERE realm_id = ${organization.id} AND transport = 'push'`;
    await deliver();
    expect(logged().map(([fields]) => fields)).toEqual([
      { organization: organization.id, user: member.id, count: expect.any(Number) },
    ]);
  });
});

test('an organization whose notifications cannot be decided does not hold up others', async () => {
  const broken = await createOrganization({}, { on: service });
  const { owner, member, organization } = await createOrganization({}, { on: service });
  const device = await pushes.register(member);
  await direct(broken.owner, [broken.member]);
  await decideNotifications(service.app);
  const where = { organizationId: broken.organization.id };
  await service.app.db.event.updateMany({ where: { ...where, type: 'message' }, data: { payload: {} } });
  await service.app.db.notificationProgress.updateMany({ where, data: { throughId: 0 } });
  const failures: FailuresByOrganization = new Map();
  const decide = () => decideNotifications(service.app, { failures });
  // The worker of the service may hold the log for a moment.
  await expect.poll(() => decide().then(() => failures.get(where.organizationId)?.atOnce)).toBe(100);
  expect(failures.has(organization.id)).toBe(false);
  const id = await direct(owner, [member]);
  await decide();
  await service.pushing.deliverDue();
  await expect.poll(() => device.received.map(({ message }) => message.messageId)).toEqual([globalId('Message', id)]);
  await service.app.db.event.deleteMany({ where: { ...where, type: 'message' } });
});

describe('devices', () => {
  test('are registered, listed and removed by their user only', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const device = await pushes.register(member, 'Laptop');
    const list = async (person: Person) =>
      (await person.query('{ pushDevices(first: 10) { nodes { id name } } }')).pushDevices.nodes;
    expect(await list(member)).toEqual([{ id: device.id, name: 'Laptop' }]);
    expect(await list(owner)).toEqual([]);
    expect((await owner.tryMutation('removePushDevice', { pushDeviceId: device.id })).__typename).toBe('NotFoundError');
    await member.mutate('removePushDevice', { pushDeviceId: device.id }, 'pushDeviceId');
    expect(await list(member)).toEqual([]);
  });

  test('an endpoint that another user registers belongs to that user', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const { decrypt, ...keys } = newDeviceKeys();
    const input = { endpoint: 'http://127.0.0.1:9/x', ...keys, name: 'x' };
    await owner.mutate('registerPushDevice', input, REGISTER);
    await member.mutate('registerPushDevice', input, REGISTER);
    const { pushDevices } = await owner.query('{ pushDevices(first: 10) { totalCount } }');
    expect(pushDevices.totalCount).toBe(0);
  });

  test.for([
    ['an address of a local network', { endpoint: 'https://192.168.1.7/push' }],
    ['a URL without TLS', { endpoint: 'http://push.example/1' }],
    ['no URL', { endpoint: 'push' }],
    ['a key that is no point of the curve', { publicKey: Buffer.alloc(65, 4).toString('base64url') }],
    ['a short secret', { authSecret: 'AAAA' }],
  ] as const)('%s is refused', async ([, wrong]) => {
    const { member } = await createOrganization({}, { on: service });
    const { decrypt, ...keys } = newDeviceKeys();
    const input = { endpoint: 'https://push.example/1', ...keys, name: 'x', ...wrong };
    expect((await member.tryMutation('registerPushDevice', input)).__typename).toBe('ValidationError');
  });

  test('are limited in number', async () => {
    const { member, organization } = await createOrganization({}, { on: service });
    await service.app.db.$executeRaw`
      INSERT INTO push_device (realm_id, user_id, key_hash, endpoint, endpoint_hash, public_key, auth_secret, name, created_at)
      SELECT ${organization.id}, ${member.id}, sha256('x'), 'x', sha256(n::text::bytea), 'x', 'x', 'x', now() FROM generate_series(1, 50) n`;
    const { decrypt, ...keys } = newDeviceKeys();
    const input = { endpoint: 'https://push.example/1', ...keys, name: 'x' };
    const refused = await member.tryMutation('registerPushDevice', input);
    expect(refused.message).toMatch(/more than 50 devices/);
  });

  test('the public key of the organization stays', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const keys = await Promise.all([owner, member, owner].map((one) => one.query('{ pushPublicKey }')));
    expect(new Set(keys.map(({ pushPublicKey }) => pushPublicKey)).size).toBe(1);
    const first = keys[0]?.pushPublicKey;
    expect(Buffer.from(first, 'base64url')).toHaveLength(65);
    // The state of a registration is read in a transaction that cannot write.
    const registering = `mutation { registerEventQueue(input: {}) {
      ... on RegisterEventQueuePayload { query { pushPublicKey } } ... on ServiceError { message } } }`;
    const { registerEventQueue } = await member.query(registering);
    expect(registerEventQueue).toEqual({ query: { pushPublicKey: first } });
    await pushes.register(member);
    expect((await owner.query('{ pushPublicKey }')).pushPublicKey).toBe(first);
  });
});

describe('emails about missed messages', () => {
  /** Decides, lets the time of collection pass, and sends. @returns The emails to the person, decoded. */
  const emailsTo = async (person: Person, { after = 121_000 } = {}) => {
    await decideNotifications(service.app);
    ahead += after;
    await writeDueEmails(service.app);
    await service.mail.sendDue();
    return mailsTo(mailbox, person.email);
  };

  test('contain the messages of one conversation that came within the time of collection', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    await direct(owner, [member], 'first');
    await direct(guest, [member], 'of another conversation');
    await decideNotifications(service.app);
    ahead += 60_000;
    await direct(owner, [member], 'second');
    const mails = await emailsTo(member, { after: 61_000 });
    expect(mails.map(({ head }) => /^Subject: (.*)$/m.exec(head)?.[1])).toEqual([
      'Direct messages with owner',
      'Direct messages with guest',
    ]);
    expect(mails[0]?.text).toMatch(/first\n\nowner, .*:\nsecond\n/);
    expect(mails[1]?.text).toContain('of another conversation');
    expect(await emailsTo(member)).toHaveLength(2);
  });

  test('omit messages that were read, deleted or moved out of reach, and are not sent to active users', async () => {
    const { owner, member, moderator } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'secret', [owner, member], { invite_only: true });
    const read = await direct(owner, [member], 'read');
    const deleted = await direct(owner, [member], 'deleted');
    await say(owner, channel, 'topic', '@**member** left');
    await moderator.ok('POST', '/users/me/presence', { status: 'active' });
    await direct(owner, [moderator], 'seen');
    await decideNotifications(service.app);
    await member.ok('POST', '/messages/flags', { messages: [read], op: 'add', flag: 'read' });
    await owner.ok('DELETE', `/messages/${deleted}`);
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [member.id] });
    expect(await emailsTo(member)).toEqual([]);
    expect(await emailsTo(moderator)).toEqual([]);
  });

  test('contain no text, name or place if the user or the organization turns them off', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    await member.ok('PATCH', '/settings', { message_content_in_email_notifications: false });
    await direct(owner, [member], 'secret words');
    await owner.ok('PATCH', '/realm', { message_content_allowed_in_email_notifications: false });
    await direct(owner, [guest], 'secret words');
    for (const person of [member, guest]) {
      const [mail] = await emailsTo(person);
      expect(mail?.head).toMatch(/^Subject: New messages$/m);
      expect(mail?.text).not.toMatch(/secret words|owner,/);
    }
  });

  test('name the organization in the subject if the setting requires it', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    await member.ok('PATCH', '/settings', { realm_name_in_email_notifications_policy: 2 });
    for (const person of [member, guest]) await direct(owner, [person]);
    expect((await emailsTo(member))[0]?.head).toContain(`[${organization.name}]`);
    expect((await emailsTo(guest))[0]?.head).not.toContain(`[${organization.name}]`);
  });

  test('are turned off by the link in them, with one request', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'wanted', [owner, member]);
    const data = [{ stream_id: channel, property: 'email_notifications', value: true }];
    await member.ok('POST', '/users/me/subscriptions/properties', { subscription_data: data });
    await say(owner, channel, 'topic');
    const [mail] = await emailsTo(member);
    const url = new URL(/^List-Unsubscribe: <(.*)>$/m.exec(mail?.head ?? '')?.[1] ?? '');
    expect(mail?.head).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
    expect(mail?.text).toContain(`Stop these emails: ${url.href}`);
    const open = (method: string, address = url) =>
      send(service.url, {
        method,
        path: `${address.pathname}${address.search}`,
        headers: { host: url.host, 'content-type': 'application/x-www-form-urlencoded' },
        body: method === 'POST' ? 'List-Unsubscribe=One-Click' : '',
      });
    const wrong = new URL(url);
    wrong.searchParams.set('token', 'x'.repeat(43));
    expect((await open('POST', wrong)).status).toBe(404);
    expect((await open('GET')).status).toBe(200);
    await say(owner, channel, 'topic');
    expect(await emailsTo(member)).toHaveLength(2);
    expect((await open('POST')).status).toBe(200);
    await say(owner, channel, 'topic');
    await direct(owner, [member]);
    expect(await emailsTo(member)).toHaveLength(2);
    await service.app.db.$executeRaw`UPDATE user_account SET email = 'new@example.com' WHERE id = ${member.id}`;
    expect((await open('GET')).status).toBe(404);
  });

  test('are not sent once the setting is turned off, even if they are written already', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    await direct(owner, [member]);
    await decideNotifications(service.app);
    for (const { email } of [member, guest]) {
      await service.app.db.$executeRaw`
        INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, unsubscribe_url)
        VALUES (${organization.id}, ${email}, 'written', '', now() + interval '1 day', 'https://chat.example/x')`;
    }
    await member.ok('PATCH', '/settings', { enable_offline_email_notifications: false });
    const left = await service.app.db.outgoingMail.findMany({
      where: { organizationId: organization.id, subject: 'written' },
    });
    expect(left.map(({ recipient }) => recipient)).toEqual([guest.email]);
    expect(await emailsTo(member)).toEqual([]);
  });

  test('omit messages that have no reason any more after an edit or a move', async () => {
    const { owner, member, guest } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'edits', [owner, member, guest]);
    await member.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
    await guest.ok('PATCH', '/settings', { enable_stream_email_notifications: true });
    await guest.ok('POST', '/user_topics', { stream_id: channel, topic: 'silent', visibility_policy: 1 });
    const edited = await say(owner, channel, 'loud', '@**member** look');
    const moved = await say(owner, channel, 'moving');
    await say(owner, channel, 'loud', 'stays');
    await decideNotifications(service.app);
    await owner.ok('PATCH', `/messages/${edited}`, { content: 'nothing' });
    await owner.ok('PATCH', `/messages/${moved}`, { topic: 'silent' });
    expect(await emailsTo(member)).toEqual([]);
    expect((await emailsTo(guest)).map(({ head }) => /^Subject: (.*)$/m.exec(head)?.[1])).toHaveLength(1);
  });

  test('to one user are postponed if they cannot be written, and those to others are sent', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    await direct(owner, [member]);
    await direct(owner, [guest]);
    await service.app.db.$executeRaw`UPDATE user_account SET email = 'no address' WHERE id = ${member.id}`;
    expect(await emailsTo(guest)).toHaveLength(1);
    const kept = await service.app.db.notification.findMany({
      where: { organizationId: organization.id, userId: member.id, transport: 'email' },
    });
    expect(kept).toMatchObject([{ attempts: 1 }]);
    const warn = vi.spyOn(service.app.log, 'warn');
    await service.app.db.$executeRaw`
      UPDATE notification SET attempts = 7, next_attempt_at = now() - interval '1 second' WHERE realm_id = ${organization.id} AND user_id = ${member.id}`;
    await writeDueEmails(service.app);
    const logged = warn.mock.calls.filter(([, text]) => text?.startsWith('missed-message email given up'));
    expect(logged.map(([fields]) => fields)).toEqual([{ organization: organization.id, user: member.id, count: 1 }]);
  });

  test('omit messages that were read, deleted or moved out of reach after the email was queued', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'secret', [owner, member], { invite_only: true });
    const [read, deleted, edited] = [
      await direct(guest, [member], 'read since'),
      await direct(owner, [member], 'deleted since'),
      await direct(owner, [member], 'first version'),
    ];
    await say(owner, channel, 'topic', '@**member** left');
    mailbox.answer = { at: 'RCPT', code: 451 };
    try {
      expect(await emailsTo(member)).toEqual([]);
    } finally {
      mailbox.answer = undefined;
    }
    const queued = () => service.app.db.outgoingMail.findMany({ where: { organizationId: organization.id } });
    expect(await queued()).toHaveLength(3);
    await member.ok('POST', '/messages/flags', { messages: [read], op: 'add', flag: 'read' });
    await owner.ok('DELETE', `/messages/${deleted}`);
    await owner.ok('PATCH', `/messages/${edited}`, { content: 'second version' });
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [member.id] });
    const [mail, ...others] = await emailsTo(member, { after: 600_000 });
    expect(others).toEqual([]);
    expect(mail?.text).toContain('second version');
    expect(mail?.text).not.toMatch(/since|first version/);
    // Nothing remains of the emails that were not sent, and no text of the one that was.
    expect((await queued()).map(({ body, missedMessageIds }) => [body, missedMessageIds])).toEqual([['', []]]);
  });

  test('are not sent to an address that the user no longer has', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    await direct(owner, [member]);
    mailbox.answer = { at: 'RCPT', code: 451 };
    try {
      expect(await emailsTo(member)).toEqual([]);
    } finally {
      mailbox.answer = undefined;
    }
    await service.app.db.$executeRaw`UPDATE user_account SET email = 'other@example.com' WHERE id = ${member.id}`;
    expect(await emailsTo(member, { after: 600_000 })).toEqual([]);
  });

  test('are sent after other emails', async () => {
    const { organization } = await createOrganization({}, { on: service });
    // In one statement, because the worker of the service sends as well.
    await service.app.db.$executeRaw`
      INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, unsubscribe_url)
      VALUES (${organization.id}, 'order@example.com', 'missed', '', '2026-01-01', 'https://chat.example/x'),
             (${organization.id}, 'order@example.com', 'reset', '', '2026-01-02', NULL)`;
    await service.mail.sendDue();
    const sent = mailbox.mails.filter(({ to }) => to.includes('order@example.com'));
    expect(sent.map(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1]?.trim())).toEqual(['reset', 'missed']);
  });

  test('leave nothing of the messages in the database', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    await direct(owner, [member], 'secret words');
    expect(await emailsTo(member)).toHaveLength(1);
    const left = await service.app.db.outgoingMail.findMany({ where: { organizationId: organization.id } });
    expect(left.map(({ body, unsubscribeUrl }) => [body, unsubscribeUrl])).toEqual([['', null]]);
  });
});

describe('old notifications', () => {
  test('are deleted unless they are still to be delivered', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    const id = await direct(owner, [member]);
    await decideNotifications(service.app);
    const { db } = service.app;
    await db.$executeRaw`DELETE FROM notification WHERE realm_id = ${organization.id}`;
    await db.$executeRaw`
      INSERT INTO notification (realm_id, user_id, message_id, transport, reason, created_at, next_attempt_at)
      VALUES (${organization.id}, ${member.id}, ${id}, 'push', 'direct', now() - interval '8 days', NULL),
             (${organization.id}, ${member.id}, ${id}, 'email', 'direct', now() - interval '8 days', now() + interval '1 hour')`;
    await purgeNotifications(db, new Date(), Prisma.sql`true`);
    const left = await db.notification.findMany({ where: { organizationId: organization.id } });
    expect(left.map(({ transport }) => transport)).toEqual(['email']);
  });

  test('that were due for a day are deleted, and their number is returned', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    const id = await direct(owner, [member]);
    await decideNotifications(service.app);
    const { db } = service.app;
    await db.$executeRaw`DELETE FROM notification WHERE realm_id = ${organization.id}`;
    await db.$executeRaw`
      INSERT INTO notification (realm_id, user_id, message_id, transport, reason, created_at, next_attempt_at)
      SELECT ${organization.id}, user_id, ${id}, 'email', 'direct', now() - interval '8 days', due
      FROM (VALUES (${member.id}::int, now() - interval '2 days'), (${owner.id}::int, NULL::timestamptz)) AS given (user_id, due)`;
    const overdue = await purgeNotifications(db, new Date(), Prisma.sql`true`);
    expect(overdue.filter(({ organizationId }) => organizationId === organization.id)).toEqual([
      { organizationId: organization.id, transport: 'email', count: 1 },
    ]);
    expect(await db.notification.count({ where: { organizationId: organization.id } })).toBe(0);
  });

  test('of messages that are older than a day are not decided', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    await pushes.register(member);
    await direct(owner, [member]);
    await deliver();
    const { db } = service.app;
    const where = { organizationId: organization.id };
    expect(await db.notification.count({ where })).toBeGreaterThan(0);
    ahead += 25 * 3_600_000;
    await db.notification.deleteMany({ where });
    await db.notificationProgress.updateMany({ where, data: { throughId: 0 } });
    await decideNotifications(service.app);
    expect(await db.notification.count({ where })).toBe(0);
  });
});
