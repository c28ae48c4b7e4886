import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { type Phone, registerApp, startPhoneServices } from '../helpers/phone-services.ts';
import { type Device, startPushService } from '../helpers/push-service.ts';
import { createOrganization, startServer } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

const KILLS = 3;

/** Ids of the messages of which a device was notified, and of those whose notification was removed later. */
function seenBy({ received }: Device): { readonly notified: Set<string>; readonly removed: Set<string> } {
  const messages = received.map(({ message }) => message);
  return {
    notified: new Set(messages.flatMap(({ messageId }) => messageId ?? [])),
    removed: new Set(messages.flatMap(({ messageIds }) => messageIds ?? [])),
  };
}

/** Ids of the messages of which apps were notified, and of those whose notification was removed later. */
function shownIn(messages: readonly Json[]): { readonly notified: Set<number>; readonly removed: Set<number> } {
  return {
    notified: new Set(messages.flatMap(({ message_id }) => message_id ?? []).map(Number)),
    removed: new Set(messages.flatMap(({ message_ids }) => String(message_ids ?? '').split(',')).map(Number)),
  };
}

test('each acknowledged message is notified at least once, and none without access, while the process is killed', async () => {
  await using pushes = await startPushService();
  await using phones = await startPhoneServices();
  await using server = await startServer({ env: phones.env });
  const { owner, member, guest, moderator } = await createOrganization({}, { on: server });
  const channel = await channelOf(owner, 'secret', [owner, member, guest, moderator], { invite_only: true });
  for (const person of [member, guest, moderator]) {
    await person.ok('PATCH', '/settings', { enable_stream_push_notifications: true });
  }
  const devices = {
    member: await pushes.register(member),
    guest: await pushes.register(guest),
    moderator: await pushes.register(moderator),
  };
  const app = await registerApp(member, phones);
  const [fcm, apns, lost] = [phones.fcm.phone(), phones.apns.phone(), phones.fcm.phone()];
  await member.ok('POST', '/users/me/android_gcm_reg_id', { token: fcm.token });
  await member.ok('POST', '/mobile_push/register', app.registration('apns', apns.token));
  await guest.ok('POST', '/users/me/android_gcm_reg_id', { token: lost.token });
  for (const phone of [fcm, apns, lost]) phone.before = () => sleep(30);
  // Responses are slow, so that most kills happen between the arrival of a message and the storing of its result.
  for (const device of Object.values(devices)) device.before = () => sleep(30);
  const acknowledged: number[] = [];
  const deleted: number[] = [];
  /** Repeats a request until it is acknowledged. */
  const until = async <T>(request: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await request();
      } catch {
        // The process was killed.
        await sleep(50);
      }
    }
  };
  let isOver = false;
  const send = async (from: Person) => {
    for (let i = 0; !isOver; i++) {
      const message = { type: 'channel', to: channel, topic: 'kills', content: `message ${i}` };
      try {
        const { status, body } = await from.rest('POST', '/messages', message);
        if (status !== 200) continue;
        if (i % 5 !== 4) acknowledged.push(body.id);
        else if ((await from.rest('DELETE', `/messages/${body.id}`)).status === 200) deleted.push(body.id);
      } catch {
        await sleep(50);
      }
      await sleep(20);
    }
  };
  const sending = [send(owner), send(owner)];
  let lastOfMembers = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = devices.member.received.length;
    await expect.poll(() => devices.member.received.length, { timeout: 60_000 }).toBeGreaterThan(before + 10);
    await server.kill9();
    await server.restart();
    if (kill !== 0) continue;
    const leave = { subscriptions: ['secret'], principals: [guest.id] };
    await until(() => owner.ok('DELETE', '/users/me/subscriptions', leave));
    await until(() => owner.ok('DELETE', `/users/${moderator.id}`));
    // Sent after both changes, so guest and moderator can read neither this message nor later ones.
    const after = { type: 'channel', to: channel, topic: 'kills', content: 'after' };
    lastOfMembers = (await until(() => owner.ok('POST', '/messages', after))).id;
  }
  isOver = true;
  await Promise.all(sending);
  const idsOf = (ids: readonly number[]) => ids.map((id) => globalId('Message', id));
  const missing = () => idsOf(acknowledged).filter((id) => !seenBy(devices.member).notified.has(id));
  await expect.poll(missing, { timeout: 60_000 }).toEqual([]);
  const shown = () => {
    const { notified, removed } = seenBy(devices.member);
    return idsOf(deleted).filter((id) => notified.has(id) && !removed.has(id));
  };
  await expect.poll(shown, { timeout: 60_000 }).toEqual([]);
  const late = new Set(idsOf([...acknowledged, ...deleted, lastOfMembers].filter((id) => id >= lastOfMembers)));
  expect(late.size).toBeGreaterThan(5);
  for (const device of [devices.guest, devices.moderator]) {
    expect([...seenBy(device).notified].filter((id) => late.has(id))).toEqual([]);
  }
  const plain = ({ received }: Phone): Json[] => received.map(({ body }) => body.message.data);
  for (const messages of [() => plain(fcm), () => app.decrypted(apns)]) {
    const missingIn = () => acknowledged.filter((id) => !shownIn(messages()).notified.has(id));
    await expect.poll(missingIn, { timeout: 60_000 }).toEqual([]);
    const left = () => {
      const { notified, removed } = shownIn(messages());
      return deleted.filter((id) => notified.has(id) && !removed.has(id));
    };
    await expect.poll(left, { timeout: 60_000 }).toEqual([]);
  }
  expect([...shownIn(plain(lost)).notified].filter((id) => id >= lastOfMembers)).toEqual([]);
}, 300_000);
