import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMissed } from '../../src/messages/digests/missed.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess({ counts: true });
});
afterAll(() => service[Symbol.asyncDispose]());

test('a digest of a user with 500 subscriptions reads a bounded number of rows', async () => {
  const { owner, member, organization } = await createOrganization({}, { on: service });
  const { db } = service.app;
  const since = new Date();
  const first = await channelOf(owner, 'first', [owner, member]);
  const message = await say(owner, first, 'launch');
  // 500 channels with 100 messages each.
  await db.$executeRaw`
    WITH made AS (
      INSERT INTO channel (realm_id, name) SELECT ${organization.id}, 'made ' || i FROM generate_series(1, 500) i RETURNING id
    ), subscribed AS (
      INSERT INTO subscription (realm_id, user_id, channel_id, color) SELECT ${organization.id}, ${member.id}, id, '#ffffff' FROM made
    )
    INSERT INTO subscription_period (realm_id, user_id, channel_id, began_message_id, began_event_id)
    SELECT ${organization.id}, ${member.id}, id, 0, 0 FROM made`;
  await db.$executeRaw`
    INSERT INTO message SELECT (jsonb_populate_record(m, jsonb_build_object('id', nextval('message_id_seq'),
      'send_token', m.send_token + c.id * 1000 + i, 'channel_id', c.id, 'sent_channel_id', c.id))).*
    FROM message m, channel c, generate_series(1, 100) i
    WHERE m.realm_id = ${organization.id} AND m.id = ${message} AND c.realm_id = ${organization.id} AND c.name LIKE 'made %'`;
  for (const table of ['message', 'subscription', 'channel']) await db.$executeRawUnsafe(`ANALYZE ${table}`);
  const user = await db.user.findUniqueOrThrow({
    where: { organizationId_id: { organizationId: organization.id, id: member.id } },
  });
  const asked = {
    organization: await db.organization.findUniqueOrThrow({ where: { id: organization.id } }),
    ...{ user, since, until: new Date() },
  };
  const rows = await service.rowsReadBy(async () => {
    const { messageCount, topicCount } = await readMissed(db, service.app, asked);
    expect(messageCount).toEqual({ count: 2_000, isCut: true });
    expect(topicCount).toMatchObject({ isCut: true });
  });
  // 50 of the channels, twice, and the newest message of each: of 50,000 messages.
  expect(rows.get('message')).toBeLessThan(12_000);
  expect(rows.get('user_account') ?? 0).toBeLessThan(15_000);
}, 120_000);
