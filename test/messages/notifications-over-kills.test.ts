import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Person } from '../helpers/person.ts';
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

test('each acknowledged message is notified at least once, and none without access, while the process is killed', async () => {
  await using pushes = await startPushService();
  await using server = await startServer();
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
}, 300_000);
